#include "report/traffic.h"

#include <map>

#include "base/ids.h"

namespace shardsim {

namespace {

struct Sum {
  double count = 0;
  double bytes = 0;
};
using Sums = std::map<std::string, Sum>;

std::string group_of(const Communication& communication) {
  const bool between_stages =
      communication.primitive == Primitive::send || communication.primitive == Primitive::recv;
  return between_stages ? std::string(name(Axis::pp)) : group_name(communication.group);
}

Sums sums_of(const Program& program, const PassTemplate& pass_template) {
  Sums sums;
  for (const Op& op : pass_template.ops) {
    if (op.kind != OpKind::communication) continue;
    const Communication& communication = at(program.communications, op.communication);
    if (communication.primitive == Primitive::recv) continue;
    Sum& sum = sums[group_of(communication)];
    sum.count += 1;
    sum.bytes += static_cast<double>(communication.bytes.value());
  }
  return sums;
}

}  // namespace

std::vector<GroupTraffic> group_traffic(const Program& program) {
  std::vector<Sums> of_template;
  for (const PassTemplate& pass_template : program.templates) {
    of_template.push_back(sums_of(program, pass_template));
  }
  std::vector<double> ranks(program.programs.size(), 0);
  for (std::int32_t rank_program : program.program_of_rank) at(ranks, rank_program) += 1;
  Sums total;
  for (std::size_t i = 0; i < program.programs.size(); ++i) {
    for (const Pass& pass : program.programs[i].passes) {
      for (const auto& [group, sum] : at(of_template, pass.pass_template)) {
        total[group].count += sum.count * ranks[i];
        total[group].bytes += sum.bytes * ranks[i];
      }
    }
  }
  std::vector<GroupTraffic> rows;
  const double all = static_cast<double>(program.program_of_rank.size());
  for (const auto& [group, sum] : total) rows.push_back({group, sum.count / all, sum.bytes / all});
  return rows;
}

}  // namespace shardsim
