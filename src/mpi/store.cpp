#include "store.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

namespace farcall::mpi {
namespace {

// Messages of this size are sent without an answer of the receiver by all transports of Open MPI
// and MPICH.
constexpr size_t kLargestPart = 2048;

struct Sizes {
  uint64_t key, value;
};

}  // namespace

void Store::open(MPI_Comm comm, int index, int count) {
  comm_ = comm;
  index_ = index;
  received_.resize(static_cast<size_t>(count));
}

int Store::put(std::string_view key, std::string_view value) {
  values_.insert_or_assign(std::string(key), std::string(value));
  const Sizes sizes{key.size(), value.size()};
  Sent& sent = sent_.emplace_back();
  sent.bytes.append(reinterpret_cast<const char*>(&sizes), sizeof(sizes));
  sent.bytes.append(key).append(value);
  const int count = static_cast<int>(received_.size());
  for (int process = 0; process < count; ++process) {
    if (process == index_) continue;
    for (size_t done = 0; done < sent.bytes.size(); done += kLargestPart) {
      const size_t nbytes = std::min(kLargestPart, sent.bytes.size() - done);
      const int code = MPI_Isend(sent.bytes.data() + done, static_cast<int>(nbytes), MPI_BYTE,
                                 process, 0, comm_, &sent.requests.emplace_back(MPI_REQUEST_NULL));
      if (code != MPI_SUCCESS) return code;
    }
  }
  sent_.remove_if([](Sent& each) {
    int are_gone = 0;
    MPI_Testall(static_cast<int>(each.requests.size()), each.requests.data(), &are_gone,
                MPI_STATUSES_IGNORE);
    return are_gone != 0;
  });
  return MPI_SUCCESS;
}

int Store::receive() {
  for (;;) {
    int is_there = 0, nbytes = 0;
    MPI_Status status;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &is_there, &status);
    if (code != MPI_SUCCESS || !is_there) return code;
    MPI_Get_count(&status, MPI_BYTE, &nbytes);
    std::string& received = received_[static_cast<size_t>(status.MPI_SOURCE)];
    const size_t before = received.size();
    received.resize(before + static_cast<size_t>(nbytes));
    code = MPI_Recv(received.data() + before, nbytes, MPI_BYTE, status.MPI_SOURCE, 0, comm_,
                    MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    take_pairs(received);
  }
}

void Store::take_pairs(std::string& received) {
  Sizes sizes{};
  size_t begin = 0;
  while (received.size() - begin >= sizeof(sizes)) {
    std::memcpy(&sizes, received.data() + begin, sizeof(sizes));
    const size_t nbytes = sizeof(sizes) + sizes.key + sizes.value;
    if (received.size() - begin < nbytes) break;
    const size_t key = begin + sizeof(sizes);
    values_.insert_or_assign(received.substr(key, sizes.key),
                             received.substr(key + sizes.key, sizes.value));
    begin += nbytes;
  }
  received.erase(0, begin);
}

const std::string* Store::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace farcall::mpi
