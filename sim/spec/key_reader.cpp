#include "spec/key_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace shardsim {
namespace {

// Names that other frameworks use for our keys, beyond what the edit distance finds.
const std::map<std::string, std::string>& foreign_names() {
  static const std::map<std::string, std::string> table{
      {"tensor_model_parallel_size", "tp"},
      {"tensor_parallel_size", "tp"},
      {"pipeline_model_parallel_size", "pp"},
      {"pipeline_parallel_size", "pp"},
      {"virtual_pipeline_model_parallel_size", "vpp"},
      {"context_parallel_size", "cp"},
      {"expert_model_parallel_size", "ep"},
      {"expert_tensor_parallel_size", "etp"},
      {"data_parallel_size", "dp"},
      {"sequence_parallel", "sp"},
      {"micro_batch_size", "micro"},
      {"mbs", "micro"},
      {"global_batch_size", "global"},
      {"gbs", "global"},
      {"seq_length", "sequence"},
      {"seq_len", "sequence"},
      {"num_layers", "layers"},
      {"num_hidden_layers", "layers"},
      {"hidden_size", "hidden"},
      {"intermediate_size", "ffn"},
      {"ffn_hidden_size", "ffn"},
      {"num_attention_heads", "heads"},
      {"num_key_value_heads", "kv_heads"},
      {"num_query_groups", "kv_heads"},
      {"vocab_size", "vocab"},
      {"tie_word_embeddings", "tied_embeddings"},
      {"recompute_granularity", "recompute"},
      {"recompute_num_layers", "recompute_layers"},
      {"use_distributed_optimizer", "zero"},
      {"zero_stage", "zero"},
      {"bandwidth", "bandwidth_per_direction"},
  };
  return table;
}

// One call reads one format; recursion goes down its dotted keys.
class TableReader {
 public:
  TableReader(const std::vector<const KeyInfo*>& rows, const std::string& prefix, ReadLog& log)
      : rows_(rows), prefix_(prefix), log_(log) {}

  void read(const JsonValue& object, const std::string& level) {
    refuse_unknown(object, level);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!at_level(row, level)) {
        continue;
      }
      const std::string name = rows_[row]->key.substr(level.size());
      const JsonValue* member = find(object, name);
      const bool unstated = member != nullptr && member->kind == JsonValue::Kind::null &&
                            rows_[row]->fallback.kind != Fallback::Kind::required &&
                            rows_[row]->fallback.kind != Fallback::Kind::value;
      if (member == nullptr || unstated) {
        fall_back(row, object, name);
      } else {
        read_member(row, *member);
      }
    }
  }

  std::vector<ReadKey> found;

 private:
  [[nodiscard]] bool at_level(std::size_t row, const std::string& level) const {
    const std::string& key = rows_[row]->key;
    return key.size() > level.size() && key.compare(0, level.size(), level) == 0 &&
           key.find('.', level.size()) == std::string::npos;
  }

  void refuse_unknown(const JsonValue& object, const std::string& level) {
    std::vector<std::string> known;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (at_level(row, level)) {
        known.push_back(rows_[row]->key.substr(level.size()));
      }
    }
    for (std::size_t i = 0; i < object.keys.size(); ++i) {
      const std::string& key = object.keys[i];
      if (level.empty() && key == "$schema") {
        check_schema(object.items[i]);
        continue;
      }
      if (std::find(known.begin(), known.end(), key) != known.end()) {
        continue;
      }
      const std::string near = suggestion(key, known);
      add_problem(log_, object.items[i], "unknown key " + brief_quote(key),
                  near.empty() ? "known keys: " + join(known, ", ")
                               : fmt::format("did you mean {}?", quote(near)));
    }
  }

  // Editors read it, we do not.
  void check_schema(const JsonValue& value) {
    if (value.kind != JsonValue::Kind::string) {
      add_problem(log_, value, fmt::format("{} is no address of a schema", brief_json(value)),
                  "write a string, or leave it out");
    }
  }

  // A key of this level under another framework's name, one that belongs elsewhere in the format,
  // or a misspelt one.
  [[nodiscard]] std::string suggestion(const std::string& key,
                                       const std::vector<std::string>& known) const {
    const auto foreign = foreign_names().find(key);
    const std::string& ours = foreign == foreign_names().end() ? key : foreign->second;
    if (std::find(known.begin(), known.end(), ours) != known.end()) {
      return ours;
    }
    for (const KeyInfo* row : rows_) {
      const std::string& whole = row->key;
      if (whole.size() > ours.size() + 1 &&
          whole.compare(whole.size() - ours.size() - 1, std::string::npos, "." + ours) == 0) {
        return whole;
      }
    }
    return meant_name(key, known);
  }

  void read_member(std::size_t row, const JsonValue& member) {
    ReadKey read;
    read.row = row;
    read.value.key = rows_[row]->key;
    read.value.prefix = prefix_;
    read.value.json = &member;
    read.value.log = &log_;
    if (member.unreadable || !read_value(member, rows_[row]->type, read.value)) {
      log_.failed.push_back(prefix_ + rows_[row]->key);
      return;
    }
    found.push_back(std::move(read));
    if (rows_[row]->type.kind == ValueType::Kind::object) {
      this->read(member, rows_[row]->key + ".");
    }
  }

  void fall_back(std::size_t row, const JsonValue& object, const std::string& name) {
    const KeyInfo& info = *rows_[row];
    if (info.fallback.kind == Fallback::Kind::required) {
      log_.failed.push_back(prefix_ + info.key);
      log_.problems.push_back({object.file, child_pointer(object.pointer, name), "is missing",
                               fmt::format("write {}: {}", describe(info.type), info.help)});
      return;
    }
    if (info.type.kind == ValueType::Kind::object) {
      if (info.fallback.kind == Fallback::Kind::value) {
        read(empty_like(object, name), info.key + ".");
      }
      return;
    }
    if (info.fallback.kind != Fallback::Kind::absent) {
      const bool is_value = info.fallback.kind == Fallback::Kind::value;
      log_.defaults_taken.push_back(
          prefix_ + info.key + " = " +
          (is_value ? info.fallback.text : "(" + info.fallback.text + ")"));
    }
  }

  static JsonValue empty_like(const JsonValue& object, const std::string& name) {
    JsonValue empty = json_object();
    empty.file = object.file;
    empty.pointer = child_pointer(object.pointer, name);
    return empty;
  }

  const std::vector<const KeyInfo*>& rows_;
  const std::string& prefix_;
  ReadLog& log_;
};

}  // namespace

void add_problem(ReadLog& log, const JsonValue& at, std::string what, std::string right) {
  log.problems.push_back({at.file, at.pointer, std::move(what), std::move(right)});
}

std::string parent_name(std::string_view key) {
  const std::vector<std::string> parts = split(key, '.');
  return parts.size() < 2 ? "" : parts[parts.size() - 2];
}

std::vector<ReadKey> read_keys(const JsonValue& object, const std::vector<const KeyInfo*>& rows,
                               const std::string& prefix, ReadLog& log) {
  TableReader reader(rows, prefix, log);
  reader.read(object, "");
  return std::move(reader.found);
}

}  // namespace shardsim
