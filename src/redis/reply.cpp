#include "redis/reply.hpp"

#include <algorithm>
#include <new>

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include "base/integer.hpp"
#include "redis/server_error.hpp"

namespace rlock::redis {
namespace {

// hiredis calls these while it parses. Building Reply here, instead of copying hiredis' own reply
// objects, lets an announced length be refused before memory is taken for it. Returning nullptr
// ends the parse; exceptions must not cross the C frames.

ReplyParser::Budget& budget_of(const redisReadTask* task) {
  return *static_cast<ReplyParser::Budget*>(task->privdata);
}

std::nullptr_t refuse(const redisReadTask* task) {
  budget_of(task).is_refused = true;
  return nullptr;
}

// Returns the reply that is next, after `fill` has had it, or nullptr without memory.
template <typename Fill>
void* place(const redisReadTask* task, Fill fill) noexcept {
  try {
    if (task->parent == nullptr) {
      auto whole = std::make_unique<Reply>();
      fill(*whole);
      return whole.release();
    }
    auto& items = static_cast<Reply*>(task->parent->obj)->items;
    // Items are made as they come: memory is taken for what was received, not announced.
    const auto at = static_cast<std::size_t>(task->idx);
    if (items.size() <= at) items.resize(at + 1);
    fill(items[at]);
    return &items[at];
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Takes `amount` from what the reply may still need. Returns false if that is too much.
bool afford(const redisReadTask* task, std::size_t amount) {
  std::size_t& left = budget_of(task).left;
  if (amount > left) return false;
  left -= amount;
  return true;
}

// hiredis has had no bound on nested lists since 1.0. Freeing a reply recurses into them.
bool is_too_deep(const redisReadTask* task) {
  int depth = 0;
  for (; task != nullptr; task = task->parent) ++depth;
  return depth > 8;
}

void* create_string(const redisReadTask* task, char* text, std::size_t length) noexcept {
  Reply::Type type = Reply::Type::string;
  if (task->type == REDIS_REPLY_STATUS) {
    type = Reply::Type::status;
  } else if (task->type == REDIS_REPLY_ERROR) {
    type = Reply::Type::error;
  } else if (task->type != REDIS_REPLY_STRING) {  // RESP3 has more kinds of text
    return refuse(task);
  }
  if (!afford(task, length)) return refuse(task);
  return place(task, [&](Reply& reply) {
    reply.type = type;
    reply.text.assign(text, length);
  });
}

// The number of elements is an int in hiredis 0.14 and a size_t since 1.0.
template <typename Count>
void* create_array(const redisReadTask* task, Count count) noexcept {
  const auto size = static_cast<std::size_t>(count);
  if (task->type != REDIS_REPLY_ARRAY || is_too_deep(task) || !afford(task, size)) {
    return refuse(task);
  }
  return place(task, [](Reply& reply) { reply.type = Reply::Type::array; });
}

void* create_integer(const redisReadTask* task, long long value) noexcept {
  return place(task, [&](Reply& reply) {
    reply.type = Reply::Type::integer;
    reply.integer = value;
  });
}

// RESP3 has more types (hiredis knows them since 1.0). rlock never asks for RESP3, so it refuses
// them. If these functions were null, hiredis would return a type number as if it were a pointer.
template <typename Functions>
void refuse_resp3(Functions& functions) {
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask* task, double, char*, std::size_t) -> void* {
      return refuse(task);
    };
    functions.createBool = [](const redisReadTask* task, int) -> void* { return refuse(task); };
  }
}

redisReplyObjectFunctions make_functions() {
  redisReplyObjectFunctions functions{};
  refuse_resp3(functions);
  functions.createString = create_string;
  functions.createArray = create_array;
  functions.createInteger = create_integer;
  functions.createNil = [](const redisReadTask* task) { return place(task, [](Reply&) {}); };
  // Only whole replies are freed: the items of an array belong to it.
  functions.freeObject = [](void* reply) { delete static_cast<Reply*>(reply); };
  return functions;
}

void refuse_if_large(std::size_t size, std::size_t limit) {
  if (size > limit) {
    throw ProtocolError("a reply of more than " + std::to_string(limit) + " bytes");
  }
}

}  // namespace

std::int64_t Reply::as_integer() const {
  if (type != Type::integer) throw ProtocolError("expected a number");
  return integer;
}

const std::string& Reply::as_text() const {
  if (type != Type::string && type != Type::status) throw ProtocolError("expected a string");
  return text;
}

std::optional<std::string> Reply::as_optional_text() const {
  if (is_nil()) return std::nullopt;
  return as_text();
}

const std::vector<Reply>& Reply::as_array(std::size_t least) const {
  if (type != Type::array || items.size() < least) throw ProtocolError("expected a longer list");
  return items;
}

std::string run_id_in(const Reply& info) {
  constexpr std::string_view k_key = "run_id:";
  const std::size_t at = info.text.find(k_key);
  if (info.type != Reply::Type::string || at == std::string::npos) return "";
  const std::size_t start = at + k_key.size();
  return info.text.substr(start, info.text.find_first_of("\r\n", start) - start);
}

void ReplyParser::FreeReader::operator()(redisReader* reader) const { redisReaderFree(reader); }

ReplyParser::ReplyParser(std::size_t limit) : limit_(limit), budget_{limit} {
  static redisReplyObjectFunctions functions = make_functions();
  reader_.reset(redisReaderCreateWithFunctions(&functions));
  if (!reader_) throw std::bad_alloc();
  reader_->privdata = &budget_;
  reader_->maxbuf = 0;  // keep the buffer between replies; it is freed with the reader
}

void ReplyParser::feed(std::string_view bytes) {
  if (longest_ == std::numeric_limits<std::size_t>::max()) {
    feed_reader(bytes);
    return;
  }
  while (!bytes.empty()) {
    const std::size_t most =
        string_left_ > 0 ? string_left_ : std::min(bytes.find('\n'), bytes.size()) + 1;
    const std::string_view part = bytes.substr(0, most);
    bytes.remove_prefix(part.size());
    if (string_left_ > 0) {
      string_left_ -= part.size();
      if (!is_skipping_) feed_reader(part);
    } else {
      refuse_if_large(line_.size() + part.size(), limit_);
      line_ += part;
      if (part.back() == '\n') begin_item();
    }
  }
}

// Feeds the reader with a line that has come as a whole. If it announces a string, its bytes
// follow.
void ReplyParser::begin_item() {
  const std::string_view text = line_;
  std::optional<std::int64_t> length;
  if (text.starts_with('$') && text.ends_with("\r\n")) {
    length = parse_integer<std::int64_t>(text.substr(1, text.size() - 3));
  }
  // The reader judges a length that is negative (nil), or no number.
  const std::size_t size = length && *length >= 0 ? static_cast<std::size_t>(*length) : 0;
  is_skipping_ = size > longest_;
  string_left_ = length && *length >= 0 ? size + 2 : 0;
  feed_reader(is_skipping_ ? "$-1\r\n" : text);
  line_.clear();
}

void ReplyParser::feed_reader(std::string_view bytes) {
  refuse_if_large(reader_->len - reader_->pos + bytes.size(), limit_);
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) fail();
}

// "Out of memory" is also what hiredis makes of our refusals.
void ReplyParser::fail() const {
  if (budget_.is_refused) throw ProtocolError("the reply is too large, or not RESP2");
  if (reader_->err == REDIS_ERR_OOM) throw Unavailable("out of memory for the server's answer");
  throw ProtocolError(reader_->errstr);
}

std::optional<Reply> ReplyParser::next() {
  void* object = nullptr;
  if (redisReaderGetReply(reader_.get(), &object) != REDIS_OK) fail();
  if (object == nullptr) return std::nullopt;
  budget_.left = limit_;
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(object));
  return std::move(*reply);
}

}  // namespace rlock::redis
