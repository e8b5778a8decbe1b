// Where JSON comes from: files, standard input, names of the data folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "spec/format.h"
#include "spec/json_value.h"

namespace shardsim {

// The tree of a file ("-": standard input); nothing when it cannot be read. `right` is said when
// there is no such file.
[[nodiscard]] std::optional<JsonValue> load_json(const std::string& path,
                                                 std::vector<Problem>& problems);

// The tree of a text that was read from `path`; nothing when it is empty or no JSON.
[[nodiscard]] std::optional<JsonValue> parse_source(std::string_view text, const std::string& path,
                                                    std::vector<Problem>& problems);

// The path that a string of a file names: beside that file unless it is absolute; of an override or
// standard input, where the program runs.
[[nodiscard]] std::string path_of(const JsonValue& value);

// Where the files of a format are, ending in /.
[[nodiscard]] std::string data_folder(Format format);
// What is wrong with that folder, so that none of its files can be found: it names $SHARDSIM_DATA
// when the folder comes from there.
[[nodiscard]] std::optional<Problem> data_folder_problem(Format format);

// Replaces a string that stands for a file of `format` by the file's content. Whatever is no
// string stays as it is; a file that cannot be read leaves null and a problem.
void resolve_reference(JsonValue& value, Format format, std::vector<Problem>& problems);

// Replaces every reference of a file of `format`, nested ones too.
void resolve_references(JsonValue& root, Format format, std::vector<Problem>& problems);

}  // namespace shardsim
