// Makes the keys that a history of scripts begins with: locks of every kind, queues, and garbage.
#pragma once

#include <cstdint>
#include <string>

#include "explore/differential/scripts_texts.hpp"

namespace rlock::explore {

class StoreMaker {
 protected:
  enum class Kind { plain, fair, simple, read_write, semaphore };

  explicit StoreMaker(Random& random)
      : r_(random),
        names_(some_names(random)),
        hero_(random.pick(k_owners)),
        kind_(static_cast<Kind>(random.below(5))) {}

  // Mostly the one that the history is about.
  std::string owner();
  void pass();
  void command(const Words& words);
  void script(const char* name, const Words& keys, Words args, bool publishes = false);
  void listen();
  void end(const std::string& key, std::size_t percent = 80);
  void garbage(const std::string& key);
  void make_lock(const Names& names);
  // Whose end is last is the only reader that counts: so the ends differ.
  void make_read_write(const Names& names);
  void make_semaphore(const Names& names);
  void make_beside(const Names& names);
  void make_queue(const Names& names);

  Random& r_;
  Names names_;
  std::string hero_;
  Kind kind_;
  History history_;
};

}  // namespace rlock::explore
