// The operations of MPI as targets of foreign calls, with their rules.
#include <farcall/ffi.h>

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/stop.h>
#include <farcall/ffi/registry.h>
#include <farcall/mpi/mpi.h>
#include <farcall/ops/define.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/numpy.h>

#include "job.h"
#include "reductions.h"

namespace farcall::mpi {
namespace {

// ---- handlers ----

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

DType dtype_of(const Buffer& x) { return static_cast<DType>(x.element_type()); }

std::string type_of(const Buffer& x) {
  const auto sizes = x.dimensions();
  return ShapeDtype(dtype_of(x), Shape(sizes.begin(), sizes.end())).to_string();
}

// "mpi.reduce(f32[3], op=sum, root=0)": the text that processes compare.
template <class... Options>
std::string text_of(std::string_view name, std::string_view type,
                    fmt::format_string<Options...> options, Options&&... values) {
  return fmt::format("mpi.{}({}{})", name, type,
                     fmt::format(options, std::forward<Options>(values)...));
}
template <class... Options>
std::string text_of(std::string_view name, const Buffer& x, fmt::format_string<Options...> options,
                    Options&&... values) {
  return text_of(name, std::string_view(type_of(x)), options, std::forward<Options>(values)...);
}

int count_of(std::string_view what, size_t count) {
  if (count > static_cast<size_t>(INT32_MAX)) {
    invalid_argument(
        fmt::format("{}: MPI takes at most 2147483647 elements at once, got {}", what, count));
  }
  return static_cast<int>(count);
}

int process_of(std::string_view what, const Job& job, int64_t process) {
  if (process >= 0 && process < job.count()) return static_cast<int>(process);
  invalid_argument(fmt::format("{}: there is no process {}; processes are numbered from 0 to {}",
                               what, process, job.count() - 1));
}

int tag_of(std::string_view what, int64_t tag) {
  if (tag >= 0 && tag <= Processes::kMaxTag) return static_cast<int>(tag);
  invalid_argument(
      fmt::format("{}: a tag must be from 0 to {}, got {}", what, Processes::kMaxTag, tag));
}

void copy(const Buffer& x, const Buffer& y) {
  if (x.size_bytes() > 0) std::memcpy(y.untyped_data(), x.untyped_data(), x.size_bytes());
}

// Runs `work` and turns its exceptions into a handler's error. Interrupts reach the caller of the
// program unchanged.
template <class Work>
ffi::Error guarded(std::string_view who, const Work& work) {
  try {
    work(job(who));
    return {};
  } catch (const StoppedError&) {
    keep_interrupt();
  } catch (const Error& error) {
    return {static_cast<ffi::ErrorCode>(error.code()), error.message()};
  } catch (const std::bad_alloc&) {
    return {ffi::ErrorCode::kResourceExhausted, "there is not enough memory"};
  } catch (...) {
    keep_interrupt();
  }
  return {ffi::ErrorCode::kCancelled, "interrupted"};
}

ffi::Error run_allreduce(Buffer x, Result y, bool is_transposed, std::string_view op) {
  return guarded("mpi.allreduce", [&](Job& job) {
    if (is_transposed) return copy(x, *y);
    const std::string what = text_of("allreduce", x, ", op={}", op);
    const Reduce reduce = reduction(op, dtype_of(x));
    const int count = count_of(what, x.element_count());
    job.collective(what, [&](MPI_Comm comm, MPI_Request* request) {
      return MPI_Iallreduce(x.untyped_data(), y->untyped_data(), count, reduce.type, reduce.op,
                            comm, request);
    });
    reduce.finish(y->untyped_data(), x.element_count());
  });
}

ffi::Error run_reduce(Buffer x, Result y, std::string_view op, int64_t root) {
  return guarded("mpi.reduce", [&](Job& job) {
    const std::string what = text_of("reduce", x, ", op={}, root={}", op, root);
    const Reduce reduce = reduction(op, dtype_of(x));
    const int count = count_of(what, x.element_count()), to = process_of(what, job, root);
    if (job.index() != to) copy(x, *y);
    job.collective(what, [&](MPI_Comm comm, MPI_Request* request) {
      return MPI_Ireduce(x.untyped_data(), y->untyped_data(), count, reduce.type, reduce.op, to,
                         comm, request);
    });
    if (job.index() == to) reduce.finish(y->untyped_data(), x.element_count());
  });
}

ffi::Error run_scan(Buffer x, Result y, std::string_view op) {
  return guarded("mpi.scan", [&](Job& job) {
    const std::string what = text_of("scan", x, ", op={}", op);
    const Reduce reduce = reduction(op, dtype_of(x));
    const int count = count_of(what, x.element_count());
    job.collective(what, [&](MPI_Comm comm, MPI_Request* request) {
      return MPI_Iscan(x.untyped_data(), y->untyped_data(), count, reduce.type, reduce.op, comm,
                       request);
    });
    reduce.finish(y->untyped_data(), x.element_count());
  });
}

ffi::Error run_allgather(Buffer x, Result y) {
  return guarded("mpi.allgather", [&](Job& job) {
    const std::string what = text_of("allgather", x, "");
    const int nbytes = count_of(what, x.size_bytes());
    job.collective(what, [&](MPI_Comm comm, MPI_Request* request) {
      return MPI_Iallgather(x.untyped_data(), nbytes, MPI_BYTE, y->untyped_data(), nbytes, MPI_BYTE,
                            comm, request);
    });
  });
}

ffi::Error run_gather(Buffer x, Result y, int64_t root) {
  return guarded("mpi.gather", [&](Job& job) {
    const std::string what = text_of("gather", x, ", root={}", root);
    const int nbytes = count_of(what, x.size_bytes()), to = process_of(what, job, root);
    if (job.index() != to) copy(x, *y);
    job.collective(what, [&](MPI_Comm comm, MPI_Request* request) {
      return MPI_Igather(x.untyped_data(), nbytes, MPI_BYTE, y->untyped_data(), nbytes, MPI_BYTE,
                         to, comm, request);
    });
  });
}

ffi::Error run_scatter(Buffer x, Result y, int64_t root) {
  return guarded("mpi.scatter", [&](Job& job) {
    const std::string what = text_of("scatter", *y, ", root={}", root);
    const int nbytes = count_of(what, y->size_bytes()), from = process_of(what, job, root);
    job.collective(what, [&](MPI_Comm comm, MPI_Request* request) {
      return MPI_Iscatter(x.untyped_data(), nbytes, MPI_BYTE, y->untyped_data(), nbytes, MPI_BYTE,
                          from, comm, request);
    });
  });
}

ffi::Error run_alltoall(Buffer x, Result y) {
  return guarded("mpi.alltoall", [&](Job& job) {
    const std::string what = text_of("alltoall", x, "");
    const int nbytes = count_of(what, x.size_bytes() / static_cast<size_t>(job.count()));
    job.collective(what, [&](MPI_Comm comm, MPI_Request* request) {
      return MPI_Ialltoall(x.untyped_data(), nbytes, MPI_BYTE, y->untyped_data(), nbytes, MPI_BYTE,
                           comm, request);
    });
  });
}

ffi::Error run_bcast(Buffer x, Result y, int64_t root) {
  return guarded("mpi.bcast", [&](Job& job) {
    const std::string what = text_of("bcast", x, ", root={}", root);
    const int nbytes = count_of(what, x.size_bytes()), from = process_of(what, job, root);
    if (job.index() == from) copy(x, *y);
    job.collective(what, [&](MPI_Comm comm, MPI_Request* request) {
      return MPI_Ibcast(y->untyped_data(), nbytes, MPI_BYTE, from, comm, request);
    });
  });
}

ffi::Error run_barrier() {
  return guarded("mpi.barrier", [](Job& job) {
    job.collective("mpi.barrier()",
                   [](MPI_Comm comm, MPI_Request* request) { return MPI_Ibarrier(comm, request); });
  });
}

Job::TypedMessage message(std::string_view what, const Job& job, int64_t process, int64_t tag,
                          const Buffer& x, std::string_view type) {
  const int number = process_of(what, job, process);
  return {{number, tag_of(what, tag), x.untyped_data(), x.size_bytes()}, Job::Label(type)};
}

ffi::Error run_send(Buffer x, int64_t destination, int64_t tag) {
  return guarded("mpi.send", [&](Job& job) {
    const std::string type = type_of(x);
    const std::string what = text_of("send", type, ", destination={}, tag={}", destination, tag);
    const auto sent = message(what, job, destination, tag, x, type);
    job.transfer(what, {&sent, 1}, {});
  });
}

ffi::Error run_recv(Buffer, Result y, int64_t source, int64_t tag) {
  return guarded("mpi.recv", [&](Job& job) {
    const std::string type = type_of(*y);
    const std::string what = text_of("recv", type, ", source={}, tag={}", source, tag);
    const auto received = message(what, job, source, tag, *y, type);
    job.transfer(what, {}, {&received, 1});
  });
}

constexpr int64_t kNobody = -1;

ffi::Error run_sendrecv(Buffer x, Buffer like, Result y, int64_t destination, int64_t receive_tag,
                        int64_t send_tag, int64_t source) {
  return guarded("mpi.sendrecv", [&](Job& job) {
    const std::string type = type_of(x);
    const std::string what =
        text_of("sendrecv", type, ", source={}, destination={}", source, destination);
    std::vector<Job::TypedMessage> sends, receives;
    if (destination != kNobody) sends.push_back(message(what, job, destination, send_tag, x, type));
    if (source != kNobody) {
      receives.push_back(message(what, job, source, receive_tag, *y, type_of(*y)));
    } else {
      copy(like, *y);
    }
    job.transfer(what, sends, receives);
  });
}

}  // namespace
}  // namespace farcall::mpi

FARCALL_DEFINE_HANDLER(farcall_mpi_allreduce, farcall::mpi::run_allreduce, "is_transposed", "op");
FARCALL_DEFINE_HANDLER(farcall_mpi_reduce, farcall::mpi::run_reduce, "op", "root");
FARCALL_DEFINE_HANDLER(farcall_mpi_scan, farcall::mpi::run_scan, "op");
FARCALL_DEFINE_HANDLER(farcall_mpi_allgather, farcall::mpi::run_allgather);
FARCALL_DEFINE_HANDLER(farcall_mpi_gather, farcall::mpi::run_gather, "root");
FARCALL_DEFINE_HANDLER(farcall_mpi_scatter, farcall::mpi::run_scatter, "root");
FARCALL_DEFINE_HANDLER(farcall_mpi_alltoall, farcall::mpi::run_alltoall);
FARCALL_DEFINE_HANDLER(farcall_mpi_bcast, farcall::mpi::run_bcast, "root");
FARCALL_DEFINE_HANDLER(farcall_mpi_barrier, farcall::mpi::run_barrier);
FARCALL_DEFINE_HANDLER(farcall_mpi_send, farcall::mpi::run_send, "destination", "tag");
FARCALL_DEFINE_HANDLER(farcall_mpi_recv, farcall::mpi::run_recv, "source", "tag");
FARCALL_DEFINE_HANDLER(farcall_mpi_sendrecv, farcall::mpi::run_sendrecv, "destination",
                       "receive_tag", "send_tag", "source");

namespace farcall::mpi {
namespace {

// ---- rules ----

using Types = std::span<const ShapeDtype>;
using Arrays = std::span<const Array>;

const std::string& text(const Attributes& attributes, std::string_view name) {
  return attributes.find(name)->as_string();
}
int64_t number(const Attributes& attributes, std::string_view name) {
  return attributes.find(name)->as<int64_t>();
}

std::vector<ShapeDtype> like_first(Types operands, const Attributes&) {
  return {operands[0].strengthened()};
}
std::vector<ShapeDtype> reduced(Types operands, const Attributes& attributes) {
  reduction(text(attributes, "op"), operands[0].dtype());
  return like_first(operands, attributes);
}
std::vector<ShapeDtype> like_root(Types operands, const Attributes& attributes) {
  process_of("root", job("mpi"), number(attributes, "root"));
  return like_first(operands, attributes);
}
std::vector<ShapeDtype> reduced_at_root(Types operands, const Attributes& attributes) {
  like_root(operands, attributes);
  return reduced(operands, attributes);
}

std::vector<ShapeDtype> stacked(Types operands, const Attributes&) {
  Shape shape(operands[0].shape().begin(), operands[0].shape().end());
  shape.insert(shape.begin(), job("mpi").count());
  return {operands[0].strengthened().with_shape(shape)};
}
std::vector<ShapeDtype> gathered(Types operands, const Attributes& attributes) {
  like_root(operands, attributes);
  const bool is_root = number(attributes, "root") == job("mpi.gather").index();
  return is_root ? stacked(operands, attributes) : like_first(operands, attributes);
}

void check_first(std::string_view who, ShapeDtype type) {
  const int count = job(who).count();
  if (type.rank() > 0 && type.shape()[0] == count) return;
  invalid_argument(
      fmt::format("{}: the first dimension of x must be {}, the number of processes; got {}", who,
                  count, type.to_string()));
}
std::vector<ShapeDtype> scattered(Types operands, const Attributes& attributes) {
  like_root(operands, attributes);
  if (number(attributes, "root") != job("mpi.scatter").index()) {
    return like_first(operands, attributes);
  }
  check_first("mpi.scatter", operands[0]);
  const Shape shape(operands[0].shape().begin() + 1, operands[0].shape().end());
  return {operands[0].strengthened().with_shape(shape)};
}
std::vector<ShapeDtype> exchanged(Types operands, const Attributes& attributes) {
  check_first("mpi.alltoall", operands[0]);
  return like_first(operands, attributes);
}
std::vector<ShapeDtype> nothing(Types, const Attributes&) { return {}; }
std::vector<ShapeDtype> like_second(Types operands, const Attributes&) {
  return {operands[1].strengthened()};
}

// A batching rule: one operation on the whole batch, with the batch dimension at the given places
// in operands and results.
using Place = int64_t (*)(const TargetCall& call);
int64_t in_front(const TargetCall&) { return 0; }
int64_t behind_first(const TargetCall&) { return 1; }
template <const char* const& kWho>
int64_t behind_first_at_root(const TargetCall& call) {
  return number(call.attributes(), "root") == job(kWho).index() ? 1 : 0;
}
constexpr const char* kGather = "mpi.gather";
constexpr const char* kScatter = "mpi.scatter";

auto batched(Place of_operands, Place of_results) {
  return [=](const TargetCall& call, Arrays operands, std::span<const int64_t> axes,
             const BatchAxis& axis) {
    std::vector<Array> moved;
    for (size_t i = 0; i < operands.size(); ++i) {
      Array x = operands[i];
      int64_t from = axes[i];
      if (from == kNotBatched) {
        Shape shape(x.shape().begin(), x.shape().end());
        shape.insert(shape.begin(), axis.size);
        x = numpy::broadcast_to(x, shape);
        from = 0;
      }
      moved.push_back(numpy::moveaxis(x, from, of_operands(call)));
    }
    BatchResults results{call(moved), {}};
    results.axes.assign(results.outputs.size(), of_results(call));
    return results;
  };
}

std::vector<Array> call(const char* name, ListOf<Array> operands,
                        const Attributes& attributes = {}) {
  const std::string target = std::string("farcall.mpi.") + name;
  job(std::string("mpi.") + name);
  return call_defined(target, operands, attributes, {.has_side_effect = true});
}

JvpResults linear_jvp(const TargetCall& call, Arrays primals, Arrays tangents) {
  std::vector<Array> all;
  for (size_t i = 0; i < primals.size(); ++i) {
    all.push_back(tangents[i].is_null() ? numpy::zeros_like(primals[i]) : tangents[i]);
  }
  return {call(primals), call(all)};
}

JvpResults allreduce_jvp(const TargetCall& call, Arrays primals, Arrays tangents) {
  if (text(call.attributes(), "op") != "sum") {
    invalid_argument(fmt::format("mpi.allreduce: only op \"sum\" has derivatives; this is \"{}\"",
                                 text(call.attributes(), "op")));
  }
  return linear_jvp(call, primals, tangents);
}

std::vector<Array> allreduce_transpose(const TargetCall& call, Arrays, Arrays cotangents) {
  Attributes attributes = call.attributes();
  const bool was_transposed = attributes.find("is_transposed")->as<bool>();
  attributes.set("is_transposed", !was_transposed);
  return call_defined("farcall.mpi.allreduce", {cotangents[0]}, attributes,
                      {.has_side_effect = was_transposed});
}

std::vector<Array> alltoall_transpose(const TargetCall&, Arrays, Arrays cotangents) {
  return mpi::call("alltoall", {cotangents[0]});
}

// The reverse transfer: source and destination are swapped.
std::vector<Array> sendrecv_transpose(const TargetCall& call, Arrays operands, Arrays cotangents) {
  const Attributes& given = call.attributes();
  const bool has_source = number(given, "source") != kNobody;
  const Array zeros = numpy::zeros(call.operand_types[0].shape(), call.operand_types[0].dtype());
  const Array back = mpi::call("sendrecv", {cotangents[0], zeros},
                               {{"destination", number(given, "source")},
                                {"receive_tag", number(given, "send_tag")},
                                {"send_tag", number(given, "receive_tag")},
                                {"source", number(given, "destination")}})[0];
  std::vector<Array> result(2);
  if (operands[0].is_null()) result[0] = back;
  if (operands[1].is_null() && !has_source) result[1] = cotangents[0];
  return result;
}

void define(const char* name, FARCALL_FFI_Handler* handler, TargetDefinition definition) {
  const std::string target = std::string("farcall.mpi.") + name;
  register_ffi_target(target, handler);
  define_target(target, std::move(definition));
}

const bool kIsDefined = [] {
  const int64_t no_number = 0;
  const auto simple = batched(in_front, in_front);
  define("allreduce", farcall_mpi_allreduce,
         {.shape = reduced,
          .default_attributes = {{"is_transposed", false}, {"op", "sum"}},
          .jvp = allreduce_jvp,
          .linear_in = {{0}},
          .transpose = allreduce_transpose,
          .batch = simple});
  define("reduce", farcall_mpi_reduce,
         {.shape = reduced_at_root,
          .default_attributes = {{"op", "sum"}, {"root", no_number}},
          .batch = simple});
  define("scan", farcall_mpi_scan,
         {.shape = reduced, .default_attributes = {{"op", "sum"}}, .batch = simple});
  define("allgather", farcall_mpi_allgather,
         {.shape = stacked, .batch = batched(in_front, behind_first)});
  define("gather", farcall_mpi_gather,
         {.shape = gathered,
          .default_attributes = {{"root", no_number}},
          .batch = batched(in_front, behind_first_at_root<kGather>)});
  define("scatter", farcall_mpi_scatter,
         {.shape = scattered,
          .default_attributes = {{"root", no_number}},
          .batch = batched(behind_first_at_root<kScatter>, in_front)});
  define("alltoall", farcall_mpi_alltoall,
         {.shape = exchanged,
          .jvp = linear_jvp,
          .linear_in = {{0}},
          .transpose = alltoall_transpose,
          .batch = batched(behind_first, behind_first)});
  define("bcast", farcall_mpi_bcast,
         {.shape = like_root, .default_attributes = {{"root", no_number}}, .batch = simple});
  define("barrier", farcall_mpi_barrier, {.shape = nothing});
  define("send", farcall_mpi_send,
         {.shape = nothing,
          .default_attributes = {{"destination", no_number}, {"tag", no_number}},
          .batch = simple});
  define("recv", farcall_mpi_recv,
         {.shape = like_first,
          .default_attributes = {{"source", no_number}, {"tag", no_number}},
          .batch = simple});
  define("sendrecv", farcall_mpi_sendrecv,
         {.shape = like_second,
          .default_attributes = {{"destination", kNobody},
                                 {"receive_tag", no_number},
                                 {"send_tag", no_number},
                                 {"source", kNobody}},
          .jvp = linear_jvp,
          .linear_in = {{0, 1}},
          .transpose = sendrecv_transpose,
          .batch = simple});
  return true;
}();

int64_t wide(int value) { return value; }
// Of a partner of sendrecv: none is no process, and no number is.
int64_t wide(std::string_view name, std::optional<int> process) {
  if (!process) return kNobody;
  if (*process >= 0) return *process;
  invalid_argument(
      fmt::format("mpi.sendrecv: {} is {}; processes are numbered from 0, and "
                  "std::nullopt is for no process",
                  name, *process));
}

}  // namespace

// ---- functions ----

void initialize(const ProcessOptions& options) {
  open_processes(
      [](const ProcessOptions& given) -> Processes* { return Job::open(given).release(); },
      options);
}
void shutdown() { close_processes(); }

Array allreduce(const Array& x, const Reduction& op) {
  return call("allreduce", {x}, {{"op", op}})[0];
}
Array reduce(const Array& x, const Reduction& op, int root) {
  return call("reduce", {x}, {{"op", op}, {"root", wide(root)}})[0];
}
Array scan(const Array& x, const Reduction& op) { return call("scan", {x}, {{"op", op}})[0]; }
Array allgather(const Array& x) { return call("allgather", {x})[0]; }
Array gather(const Array& x, int root) { return call("gather", {x}, {{"root", wide(root)}})[0]; }
Array scatter(const Array& x, int root) { return call("scatter", {x}, {{"root", wide(root)}})[0]; }
Array alltoall(const Array& x) { return call("alltoall", {x})[0]; }
Array bcast(const Array& x, int root) { return call("bcast", {x}, {{"root", wide(root)}})[0]; }
void barrier() { call("barrier", {}); }
void send(const Array& x, int destination, int tag) {
  call("send", {x}, {{"destination", wide(destination)}, {"tag", wide(tag)}});
}
Array recv(const Array& like, int source, int tag) {
  return call("recv", {like}, {{"source", wide(source)}, {"tag", wide(tag)}})[0];
}
Array sendrecv(const Array& x, const Array& like, std::optional<int> source,
               std::optional<int> destination, int send_tag, int receive_tag) {
  return call("sendrecv", {x, like},
              {{"destination", wide("destination", destination)},
               {"receive_tag", wide(receive_tag)},
               {"send_tag", wide(send_tag)},
               {"source", wide("source", source)}})[0];
}

}  // namespace farcall::mpi
