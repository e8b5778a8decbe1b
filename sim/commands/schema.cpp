// shardsim schema FORMAT: the JSON Schema of an input file, from the reader's own key table.
#include <utility>

#include "base/errors.h"
#include "base/text.h"
#include "commands/arguments.h"
#include "commands/command.h"
#include "commands/output.h"
#include "spec/reader.h"

namespace shardsim {

namespace {

const std::vector<std::pair<std::string, Format>>& formats() {
  static const std::vector<std::pair<std::string, Format>> table{{"run", Format::run},
                                                                 {"model", Format::model},
                                                                 {"cluster", Format::cluster},
                                                                 {"gpu", Format::gpu},
                                                                 {"stack", Format::stack},
                                                                 {"measured", Format::measured}};
  return table;
}

Format find_format(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [format_name, format] : formats()) {
    if (format_name == name) return format;
    names.push_back(format_name);
  }
  const std::string near = nearest_name(name, names);
  throw ConfigError(
      {{"shardsim schema", "", "no format is called \"" + name + "\"",
        (near.empty() ? "" : "did you mean " + near + "? ") + "formats are " + join(names, ", ")}});
}

}  // namespace

Outcome schema_command(const Arguments& arguments) {
  CLI::App app{"Prints the JSON Schema of an input file.", "shardsim schema"};
  std::string format;
  std::string path = "-";
  app.add_option("FORMAT", format, "run, model, cluster, gpu, stack or measured")->required();
  app.add_option("-o,--output", path, "file to write, - for stdout");
  if (!parse_arguments(app, arguments)) return Outcome::ok;

  const OutputFile out(path);
  out.commit(schema_text(find_format(format)));
  return Outcome::ok;
}

}  // namespace shardsim
