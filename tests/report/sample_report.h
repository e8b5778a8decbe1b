// A hand-made RunReport whose figures are round, so that expected text can be derived by eye.
#pragma once

#include "report/run_report.h"

namespace shardsim {

// Two stages, TP 8 in the node, step 2 s: compute 1.2, tp 0.4, pp 0.1, dp 0.1, bubble 0.2.
RunReport sample_report();

// The same job with one TP rank per node: step 4 s, TP bound by the NIC, exposed TP 2.0 s.
RunReport sample_cross_report();

}  // namespace shardsim
