// The operations of farcall/mpi/mpi.h, and programs over the devices of two processes.
#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/mpi/mpi.h>
#include <farcall/ops/collectives.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/shard_map.h>
#include <farcall/program/engine.h>
#include <farcall/program/processes.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/vmap.h>

namespace farcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// MPI is initialized once for all tests; the library uses the processes of mpirun.
class Job : public ::testing::Environment {
  void SetUp() override { mpi::initialize({.timeout_seconds = 60}); }
  void TearDown() override { mpi::shutdown(); }
};
const auto* const kJob = ::testing::AddGlobalTestEnvironment(new Job);

int me() { return processes()->index(); }
constexpr int kCount = 2;

std::vector<float> values(const Array& x) {
  const auto all = x.values<float>();
  return {all.begin(), all.end()};
}
// {first, second} in process 0, ten times that in process 1.
Array own(float first, float second) {
  const float factor = me() == 0 ? 1 : 10;
  return Array::of<float>({factor * first, factor * second});
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was raised";
}

TEST(Mpi, CollectivesReachAllProcesses) {
  ASSERT_EQ(processes()->count(), kCount);
  const Array x = own(1, 2);
  EXPECT_THAT(values(mpi::allreduce(x)), ElementsAre(11, 22));
  EXPECT_THAT(values(mpi::allreduce(x, "max")), ElementsAre(10, 20));
  EXPECT_THAT(values(mpi::allgather(x)), ElementsAre(1, 2, 10, 20));
  EXPECT_THAT(values(mpi::bcast(x, 1)), ElementsAre(10, 20));
  EXPECT_THAT(values(mpi::alltoall(x)), me() == 0 ? ElementsAre(1, 10) : ElementsAre(2, 20));
  EXPECT_THAT(values(mpi::scan(x)), me() == 0 ? ElementsAre(1, 2) : ElementsAre(11, 22));
  EXPECT_THAT(values(mpi::reduce(x, "sum", 1)),
              me() == 0 ? ElementsAre(1, 2) : ElementsAre(11, 22));
  EXPECT_EQ(mpi::gather(x, 0).size(), me() == 0 ? 4 : 2);
  const Array parts =
      me() == 0 ? Array::of<float>({3, 4}) : lax::reshape(Array::of<float>({0}), {});
  EXPECT_EQ(mpi::scatter(parts, 0).item<float>(), me() == 0 ? 3 : 4);
  mpi::barrier();
}

TEST(Mpi, MessagesGoFromProcessToProcess) {
  const Array x = own(1, 2);
  const int other = 1 - me();
  EXPECT_THAT(values(mpi::sendrecv(x, x, other, other)),
              me() == 0 ? ElementsAre(10, 20) : ElementsAre(1, 2));
  EXPECT_THAT(values(mpi::sendrecv(x, x, std::nullopt, std::nullopt)), values(x));
  if (me() == 0) {
    mpi::send(x, 1, 5);
  } else {
    EXPECT_THAT(values(mpi::recv(x, 0, 5)), ElementsAre(1, 2));
  }
}

TEST(Mpi, CompiledMappedAndDifferentiated) {
  const auto total = [](const Array& x) { return lax::mul(mpi::allreduce(x), mpi::allreduce(x)); };
  const auto sum = [&](const Array& x) { return lax::reduce_sum(total(x), {0}); };
  const Array x = own(1, 2);
  EXPECT_THAT(values(jit(total)(x)), ElementsAre(121, 484));
  // Twice the sum: the transpose of allreduce returns each process's own cotangent.
  EXPECT_THAT(values(jit(grad(sum))(x)), ElementsAre(22, 44));
  EXPECT_THAT(values(vmap([](const Array& v) { return mpi::allreduce(v); })(x)),
              ElementsAre(11, 22));
}

TEST(Mpi, ErrorsSayWhatDiffers) {
  const Array x = own(1, 2);
  EXPECT_THAT(message_of([&] { mpi::allreduce(x, "mean"); }), HasSubstr("op must be one of sum"));
  EXPECT_THAT(message_of([&] { mpi::bcast(x, 7); }), HasSubstr("there is no process 7"));
  const std::string text = message_of([&] { me() == 0 ? mpi::allreduce(x) : mpi::allgather(x); });
  EXPECT_THAT(text, HasSubstr("process 0 runs mpi.allreduce(f32[2], op=sum)"));
  EXPECT_THAT(text, HasSubstr("process 1 runs mpi.allgather(f32[2])"));
  EXPECT_THAT(message_of([] { mpi::initialize(); }), HasSubstr("was called before"));
}

TEST(Mpi, ShardMapRunsOnTheDevicesOfAllProcesses) {
  const Mesh mesh = {{"x", kCount}};
  const auto with_sum = shard_map([](const Array& v) { return lax::add(v, lax::psum(v, {"x"})); },
                                  {.mesh = mesh, .in_specs = {{{"x"}}}, .out_specs = {{{"x"}}}});
  const Array x = device_put(Array::of<float>({1, 2, 3, 4}), NamedSharding{mesh, {{"x"}}});
  ASSERT_EQ(shards_of(x).size(), 1u);
  const Array y = jit(with_sum)(x);
  EXPECT_THAT(values(shards_of(y)[0]), me() == 0 ? ElementsAre(5, 8) : ElementsAre(7, 10));
  EXPECT_THAT(message_of([&] { y.data(); }), HasSubstr("is spread over devices of several"));
  // Other operations gather the array.
  EXPECT_EQ(lax::reduce_sum(y, {0}).item<float>(), 30);
}

TEST(Mpi, ProcessesShareKeysAndValues) {
  Processes& job = *processes();
  const std::string long_text(100'000, static_cast<char>('a' + me()));
  job.put(std::to_string(me()), long_text);
  EXPECT_EQ(job.get(std::to_string(1 - me()), 20), std::string(100'000, me() == 0 ? 'b' : 'a'));
  EXPECT_EQ(job.get(std::to_string(me()), 0), long_text);
  EXPECT_EQ(job.get("a key that nobody puts", 0.01), std::nullopt);
  if (me() == 0) {
    job.put("it", "first");
    job.put("it", "");
    job.put("", std::string("\0x", 2));
  }
  EXPECT_EQ(job.get("", 20), std::string("\0x", 2));
  EXPECT_EQ(job.get("it", 0), "");
}

TEST(Mpi, ClientsOfAPluginFindEachOther) {
  setenv("FARCALL_PJRT_PLUGIN", STORE_PLUGIN, 1);
  const auto with_options = [](const std::string& options) {
    setenv("FARCALL_PJRT_OPTIONS", options.c_str(), 1);
    return message_of([] { find_engine("pjrt").devices(); });
  };
  const std::string id = std::to_string(me());
  const std::string wanted = "pjrt: ClientCreate: node " + id +
                             " of 2: error 5 no process has put key \"nobody's\" within 0 s; "
                             "20000 times " +
                             (me() == 0 ? "b; 20000 times b" : "a; 20000 times a") +
                             "; error 4 no process has put key \"nobody's\" within 0.02 s. "
                             "FARCALL_PJRT_OPTIONS is ";
  for (const std::string& options : {std::string("num_nodes=2"), "num_nodes=2,node_id=" + id}) {
    EXPECT_EQ(with_options(options), wanted + '"' + options + '"');
  }
  EXPECT_THAT(with_options("num_nodes=3"), HasSubstr("num_nodes=3, but the job has 2 processes"));
}

}  // namespace
}  // namespace farcall
