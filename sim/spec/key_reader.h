// Reads a JSON object by a key table: checks every value, reports every problem, stores what is
// right into the struct that the table is bound to.
//
//   ReadLog log;
//   ModelSpec model;
//   read_into(model, json, model_keys(), "model.", log);   // log.problems, log.failed, ...
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "spec/json_value.h"
#include "spec/key_table.h"

namespace shardsim {

// What reading one run finds. Dotted keys are those of the run file ("model.heads").
struct ReadLog {
  std::vector<Problem> problems;
  std::vector<std::string> failed;          // keys whose value is missing or wrong
  std::vector<std::string> defaults_taken;  // keys that were not stated
};

void add_problem(ReadLog& log, const JsonValue& at, std::string what, std::string right);

// One value, checked against its row.
struct Parsed {
  std::string_view key;             // of the row, without the format's prefix
  std::string prefix;               // of the format: "", "model.", "cluster.gpu.", ...
  const JsonValue* json = nullptr;  // where it stands
  ReadLog* log = nullptr;           // for what a store function itself finds wrong
  std::int64_t integer = 0;
  double number = 0;  // numbers and quantities (base units)
  bool boolean = false;
  std::string text;
  int choice = 0;  // index into the row's choices
  std::vector<std::int64_t> integers;
  std::vector<int> choices;
};

// Reads `json` into `out` as its row's type says; false when it is wrong, which is then in the log.
[[nodiscard]] bool read_value(const JsonValue& json, const ValueType& type, Parsed& out);

// The second-last part of a dotted key: "collectives.all_reduce.algorithm" -> "all_reduce".
[[nodiscard]] std::string parent_name(std::string_view key);

struct ReadKey {
  std::size_t row = 0;
  Parsed value;
};

// The stated keys of `object` in the order of the rows; everything else goes to the log.
[[nodiscard]] std::vector<ReadKey> read_keys(const JsonValue& object,
                                             const std::vector<const KeyInfo*>& rows,
                                             const std::string& prefix, ReadLog& log);

template <class T>
struct Key : KeyInfo {
  std::function<void(T&, const Parsed&)> store;
};

template <class T>
[[nodiscard]] std::vector<KeyInfo> infos_of(const std::vector<Key<T>>& keys) {
  return {keys.begin(), keys.end()};
}

template <class T>
void read_into(T& target, const JsonValue& object, const std::vector<Key<T>>& keys,
               const std::string& prefix, ReadLog& log) {
  std::vector<const KeyInfo*> rows;
  rows.reserve(keys.size());
  for (const Key<T>& key : keys) {
    rows.push_back(&key);
  }
  for (const ReadKey& read : read_keys(object, rows, prefix, log)) {
    if (keys[read.row].store) {
      keys[read.row].store(target, read.value);
    }
  }
}

// A list of objects; the key in messages is that of the list.
template <class T>
[[nodiscard]] std::vector<T> read_list(const Parsed& list, const std::vector<Key<T>>& keys) {
  std::vector<T> result;
  for (std::size_t i = 0; i < list.json->items.size(); ++i) {
    const std::string prefix = list.prefix + std::string(list.key) + "." + std::to_string(i) + ".";
    T item;
    read_into(item, list.json->items[i], keys, prefix, *list.log);
    result.push_back(std::move(item));
  }
  return result;
}

// The rows of an inner table as members of an outer object: "precision" -> "training.precision".
template <class Outer, class Inner, class Member>
void embed(std::vector<Key<Outer>>& outer, const std::string& prefix,
           const std::vector<Key<Inner>>& inner, Member member) {
  for (const Key<Inner>& key : inner) {
    Key<Outer> copy;
    static_cast<KeyInfo&>(copy) = key;
    copy.key = prefix + key.key;
    if (key.store) {
      copy.store = [store = key.store, member](Outer& target, const Parsed& value) {
        store(member(target), value);
      };
    }
    outer.push_back(std::move(copy));
  }
}

}  // namespace shardsim
