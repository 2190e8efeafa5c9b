#include "resp.hpp"

#include <algorithm>
#include <cstdlib>
#include <poll.h>
#include <stdexcept>
#include <utility>

#include "net.hpp"

namespace rlock::test {

RespClient::RespClient(UniqueFd socket) : socket_(std::move(socket)) {
  set_nonblocking(socket_.get());
}

std::vector<std::string> RespClient::call(const std::vector<std::string>& args,
                                          std::chrono::milliseconds bound) {
  const Deadline deadline(bound);
  std::string request = "*" + std::to_string(args.size()) + "\r\n";
  for (const std::string& arg : args) {
    request += "$" + std::to_string(arg.size()) + "\r\n" + arg + "\r\n";
  }
  std::string_view rest = request;
  while (!rest.empty()) {
    std::size_t sent = 0;
    const IoState state = send_some(socket_.get(), rest, sent);
    rest.remove_prefix(sent);
    if (state == IoState::closed || deadline.passed()) {
      throw std::runtime_error("redis: cannot send " + args.at(0));
    }
    if (state == IoState::again) {
      pollfd waiting{socket_.get(), POLLOUT, 0};
      ::poll(&waiting, 1, deadline.left_ms());
    }
  }
  std::vector<std::string> answer;
  reply(answer, deadline);
  return answer;
}

void RespClient::fill(const Deadline& deadline) {
  while (true) {
    const IoState state = read_some(socket_.get(), buffer_);
    if (state == IoState::closed) {
      throw std::runtime_error("redis: connection closed");
    }
    if (deadline.passed()) {  // Also when bytes come without end.
      throw std::runtime_error("redis: no reply in time");
    }
    if (state == IoState::done) {
      return;
    }
    pollfd waiting{socket_.get(), POLLIN, 0};
    ::poll(&waiting, 1, deadline.left_ms());
  }
}

std::string RespClient::line(const Deadline& deadline) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    fill(deadline);
  }
  std::string text = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return text;
}

std::string RespClient::exact(std::size_t size, const Deadline& deadline) {
  while (buffer_.size() < size) {
    fill(deadline);
  }
  std::string text = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return text;
}

void RespClient::reply(std::vector<std::string>& into, const Deadline& deadline) {
  const std::string header = line(deadline);
  const std::string rest = header.empty() ? "" : header.substr(1);
  const long long number = std::strtoll(rest.c_str(), nullptr, 10);
  switch (header.empty() ? '\0' : header[0]) {
    case '+':
    case ':':
      into.push_back(rest);
      return;
    case '-':
      into.push_back("(error) " + rest);
      return;
    case '$':
      if (number < 0) {
        into.emplace_back("(nil)");
        return;
      }
      into.push_back(exact(static_cast<std::size_t>(number), deadline));
      exact(2, deadline);
      return;
    case '*':
      if (number < 0) {
        into.emplace_back("(nil)");
      }
      for (long long i = 0; i < number; ++i) {
        reply(into, deadline);
      }
      return;
    default:
      throw std::runtime_error("redis: unexpected reply: " + header);
  }
}

std::size_t RequestCounter::feed(std::string_view data) {
  std::size_t commands = 0;
  while (!data.empty()) {
    if (skip_ > 0) {
      const std::size_t jump = std::min(skip_, data.size());
      data.remove_prefix(jump);
      skip_ -= jump;
      continue;
    }
    const std::size_t end = data.find('\n');
    line_ += data.substr(0, end);
    if (end == std::string_view::npos) {
      break;
    }
    data.remove_prefix(end + 1);
    commands += end_line() ? 1 : 0;
    line_.clear();
  }
  return commands;
}

bool RequestCounter::end_line() {
  const long long number = line_.size() > 1 ? std::strtoll(line_.c_str() + 1, nullptr, 10) : 0;
  if (left_ > 0) {
    --left_;
    skip_ = line_[0] == '$' && number >= 0 ? static_cast<std::size_t>(number) + 2 : 0;
    return false;
  }
  if (line_.empty() || line_[0] != '*') {
    return false;
  }
  left_ = std::max(0LL, number);
  return true;
}

}  // namespace rlock::test
