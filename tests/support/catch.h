// The one place that knows which Catch2 is installed.
#pragma once

#include <catch2/catch.hpp>
