// Keys with values that all processes of a job share.
#pragma once

#include <mpi.h>

#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace farcall::mpi {

// Every process holds all values. Messages are short, so that MPI sends them at once and the sender
// need not wait for the receivers. Not thread-safe. Functions return codes of MPI.
class Store {
 public:
  // The communicator is used for nothing else.
  void open(MPI_Comm comm, int index, int count);

  // Replaces the value of the key, here and in the other processes.
  int put(std::string_view key, std::string_view value);
  // Takes what has arrived.
  int receive();
  const std::string* find(std::string_view key) const;

 private:
  struct Sent {
    std::string bytes;
    std::vector<MPI_Request> requests;
  };
  void take_pairs(std::string& received);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int index_ = 0;
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> received_;  // by process: the bytes of incomplete pairs
  std::list<Sent> sent_;
};

}  // namespace farcall::mpi
