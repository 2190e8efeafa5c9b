#include "explore/differential/scripts_texts.hpp"

namespace rlock::explore {
namespace {

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string list_of(Random& r, const Words& texts) {
  std::string list = "[";
  for (std::size_t i = r.below(4); i > 0; --i) list += quoted(r.pick(texts)) + (i > 1 ? "," : "");
  return list + "]";
}

}  // namespace

Names some_names(Random& r) { return Names(r.chance(92) ? "L" : "{L}"); }

std::string number(std::int64_t value) { return std::to_string(value); }

std::int64_t moment(Random& r) {
  static const std::vector<std::int64_t> spans{
      0, 1, 500, 1000, 5000, 8000, 8001, 15000, 15001, 60000, 60001, 300000, 3600001, 7200000};
  const std::int64_t span = r.chance(60) ? r.pick(spans) : r.between(0, 100000);
  return k_now_ms + (r.chance(50) ? span : -span);
}

std::string lease(Random& r) {
  static const std::vector<std::int64_t> leases{1, 10000, 30000, 30000, 86400000};
  return number(r.pick(leases) + (r.chance(90) ? r.between(0, 997) : 0));
}

std::string odd_owner(Random& r) {
  const std::size_t sort = r.below(40);
  if (sort == 0) return "plain text";
  if (sort == 1) return r.pick(k_owners) + ":write";
  if (sort == 2) return "\x01\x02 16 bytes \xff\xfe\xfd\x7f";  // as a permit of Redisson's
  return r.pick(k_owners);
}

std::string told_json(Random& r) {
  if (r.chance(6)) return odd_json(r);
  if (r.chance(3)) return odd_text(r);
  std::string json = "{";
  const auto add = [&](std::size_t percent, const char* name, const std::string& value) {
    if (r.chance(percent)) json += (json.size() > 1 ? "," : "") + quoted(name) + ":" + value;
  };
  const auto whole = [&](std::int64_t value) {
    return r.chance(88)   ? number(value)
           : r.chance(50) ? quoted(number(value))
                          : r.pick(Words{"1.5", "null", "\"x\"", "1e3", "{}"});
  };
  add(60, "kind",
      quoted(r.pick(Words{"reentrant", "fair", "simple", "read", "write", "semaphore"})));
  add(60, "host", quoted(r.pick(Words{"a.example", "h\\/x", "\xc3\xa4", "\xff"})));
  add(50, "process", quoted("1:2"));
  add(60, "since", whole(moment(r)));
  add(50, "seen", whole(moment(r)));
  add(50, "due", whole(moment(r)));
  add(40, "came", quoted(number(moment(r) * 1000 + r.between(0, 2))));
  add(20, "wait", whole(r.between(1000, 400000)));
  add(30, "token", quoted(number(k_now_ms * 1000 + r.between(-3, 3))));
  add(15, "kept", whole(moment(r)));
  add(15, "outlived", whole(moment(r)));
  add(15, "holds", whole(r.between(0, 3)));
  add(25, "entered", list_of(r, k_holds));
  add(25, "past", list_of(r, k_holds));
  add(15, "ended", list_of(r, k_holds));
  add(15, "latches", list_of(r, k_holds));
  if (r.chance(12)) {
    add(100, "peers",
        "{" + quoted(r.pick(k_owners)) + ":[" + whole(r.between(0, 400000)) + "," +
            whole(moment(r)) + "]}");
  }
  return json + "}";
}

std::string called_json(Random& r) {
  if (r.chance(10)) return told_json(r);
  std::string json = "{\"owner\":" + quoted(r.pick(k_owners)) + ",\"at\":" + number(moment(r));
  if (r.chance(50)) json += ",\"deaf\":" + list_of(r, k_owners);
  return json + "}";
}

std::string sent_json(Random& r) {
  if (r.chance(20)) return "";
  if (r.chance(8)) return odd_json(r);
  return "{\"command\":\"make \\\"x\\\" a/b\",\"host\":\"h" + number(r.between(1, 3)) +
         "\",\"pid\":" + number(r.between(1, 99)) + (r.chance(30) ? ",\"listens\":1}" : "}");
}

}  // namespace rlock::explore
