// Shardings of the results of programs on sharded operands. They decide where results are stored;
// values do not depend on them.
#include <farcall/trace/placement.h>

#include "trace/sharding/partition.h"
#include "trace/sharding/propagation.h"

namespace farcall {

const NamedSharding* first_sharding(std::span<const Array> inputs) {
  for (const Array& input : inputs) {
    if (input.node().storage()) continue;
    if (const NamedSharding* sharding = sharding_of(input)) return sharding;
  }
  return nullptr;
}

std::vector<PartitionSpec> specs_on(const Mesh& mesh, std::span<const Array> inputs) {
  std::vector<PartitionSpec> specs;
  for (const Array& input : inputs) {
    const NamedSharding* sharding = sharding_of(input);
    specs.push_back(sharding && sharding->mesh == mesh ? sharding->spec : PartitionSpec());
  }
  return specs;
}

void spread_results(const Program& program, const Mesh& mesh, std::span<const PartitionSpec> specs,
                    std::span<Array> results) {
  using Specs = std::vector<PartitionSpec>;
  const auto [kind, numbers] = division_key("results", mesh, specs);
  const Specs found = program.derived.find_or_make<Specs>(kind, numbers, [&] {
    return Propagation(program, {{specs.begin(), specs.end()}, {}}, mesh, true).specs().results;
  });
  for (size_t i = 0; i < results.size(); ++i) {
    if (const NamedSharding* made = sharding_of(results[i])) {
      // Computed with a sharding of the executable: replace its mesh by the user's mesh if both
      // place elements alike.
      const NamedSharding known{mesh, made->spec};
      if (places_alike(*made, known)) results[i] = spread_result(results[i], known);
      continue;
    }
    const bool is_kept = fits(results[i].type(), found[i], mesh.axes());
    results[i] = spread_result(results[i], {mesh, is_kept ? found[i] : PartitionSpec()});
  }
}

}  // namespace farcall
