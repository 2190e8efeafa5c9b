// What counts as the same answer, and as the same store, of the model and of a server.
#pragma once

#include <optional>
#include <string>

#include "explore/differential/inputs.hpp"
#include "explore/store.hpp"

namespace rlock::explore {

// Returns {key, type, pttl, content} of each key.
[[nodiscard]] Reply dump_of(const Store& store);
// Puts what a step has answered, in an order that is nobody's promise, into one that can be
// compared.
void arrange(const Step& step, Reply& reply);
[[nodiscard]] bool is_same(const Reply& one, const Reply& other);
// Returns where two stores differ, or nothing.
[[nodiscard]] std::optional<std::string> compare_stores(Reply model, Reply server);

// Returns a text as a shell reads it.
[[nodiscard]] std::string quoted(const std::string& text);
// Returns what a script has answered, roughly.
[[nodiscard]] std::string sort_of(const Reply& reply);
[[nodiscard]] std::string versus(const std::string& what, const Reply& model, const Reply& server);

}  // namespace rlock::explore
