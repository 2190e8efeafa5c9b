// Any bytes as a server's answers, in one piece and cut anywhere. The first byte of the input says
// how they are cut, the second how large a reply may be.

#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/require.hpp"
#include "redis/reply.hpp"

using namespace rlock;
using namespace rlock::fuzz;
using redis::Reply;
using redis::ReplyParser;

namespace {

std::string encode(const Reply& reply) {
  switch (reply.type) {
    case Reply::Type::nil:
      return "$-1\r\n";
    case Reply::Type::integer:
      return ":" + std::to_string(reply.integer) + "\r\n";
    case Reply::Type::status:
      return "+" + reply.text + "\r\n";
    case Reply::Type::error:
      return "-" + reply.text + "\r\n";
    case Reply::Type::string:
      return "$" + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n";
    case Reply::Type::array:
      break;
  }
  std::string text = "*" + std::to_string(reply.items.size()) + "\r\n";
  for (const Reply& item : reply.items) text += encode(item);
  return text;
}

std::size_t weight(const Reply& reply) {
  std::size_t sum = reply.text.size() + reply.items.size();
  for (const Reply& item : reply.items) sum += weight(item);
  return sum;
}

struct Parsed {
  std::vector<std::string> replies;
  bool refused = false;

  bool operator==(const Parsed&) const = default;
};

// Feeds pieces of 1 to `most` bytes, whose sizes depend on `seed`.
Parsed parse(std::string_view bytes, std::size_t limit, std::size_t most, std::uint32_t seed) {
  Parsed parsed;
  try {
    ReplyParser parser(limit);
    while (!bytes.empty()) {
      seed = seed * 1664525 + 1013904223;
      const std::size_t size = std::min(bytes.size(), 1 + (seed >> 8) % most);
      // A copy of its own, so that AddressSanitizer sees a read past its end.
      const std::vector<char> piece(bytes.begin(), bytes.begin() + static_cast<long>(size));
      parser.feed({piece.data(), piece.size()});
      bytes.remove_prefix(size);
      while (const auto reply = parser.next()) {
        require(weight(*reply) <= limit, "no reply is larger than the limit");
        parsed.replies.push_back(encode(*reply));
      }
    }
  } catch (const redis::ProtocolError& error) {
    require(is_plain(error.what()), "a message is harmless for a terminal");
    parsed.refused = true;
  }
  return parsed;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint8_t cut = data[0];
  const std::size_t limit = std::size_t{data[1]} * 64;
  const std::string_view bytes = as_text(data + 2, size - 2);
  const Parsed in_pieces = parse(bytes, limit, 1 + cut % 16U, cut);

  // A limit that the bytes cannot reach: then it does not matter how they are cut.
  const std::size_t ample = bytes.size() + 4096;
  const Parsed whole = parse(bytes, ample, std::max<std::size_t>(bytes.size(), 1), 0);
  require(parse(bytes, ample, 1 + cut % 16U, cut) == whole, "cuts make no difference");
  require(in_pieces.replies.size() <= whole.replies.size() &&
              std::equal(in_pieces.replies.begin(), in_pieces.replies.end(), whole.replies.begin()),
          "a limit makes no other difference than to stop");

  std::string again;
  for (const std::string& reply : whole.replies) again += reply;
  const Parsed same = parse(again, ample, 1 + again.size(), 0);
  require(!same.refused && same.replies == whole.replies, "what was understood can be said again");
  return 0;
}
