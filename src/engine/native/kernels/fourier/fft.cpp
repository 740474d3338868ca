// fft: computed in the precision of the result.
//
// Dimensions are transformed one after the other, each by one pass over all of its lines, or by two
// passes if the lines are long. A pass gathers a few lines at a time side by side in scratch
// memory, and writes them where the next pass, or the result, needs them. Dense lines of middle
// length are transformed one at a time.
#include <algorithm>
#include <array>
#include <complex>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <farcall/primitives/fft.h>

#include "engine/native/kernels/clusters/lane_tiles.h"
#include "engine/native/kernels/elementwise/lanes.h"
#include "engine/native/kernels/fourier/fourier.h"
#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/movement/rows.h"
#include "engine/native/kernels/movement/stores_past_caches.h"
#include "engine/native/kernels/scratch.h"
#include "engine/native/kernels/vector/fourier.h"
#include "engine/native/kernels/vector/prefetch.h"

namespace farcall::native {
namespace {

using Types = std::span<const ShapeDtype>;

// The most lines transformed at a time, and the scratch memory for them.
constexpr int64_t kMostTogether = 16;
constexpr int64_t kBytesTogether = int64_t{4} << 20;
// Lines of at least this length are transformed as the columns and rows of a matrix.
constexpr int64_t kLongLine = 4096;
// Keeps all numbers of a line.
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
// Numbers of a batch transformed at a time.
constexpr int64_t kChunk = int64_t{1} << 20;

// ---- lines in memory

// Number j of line w is number first[w] + j * step of the line in memory that begins at element
// begin[w]; the numbers of that line are `apart` elements apart.
struct Places {
  int64_t begin[kMostTogether], first[kMostTogether];
  int64_t step = 1, apart = 1;

  int64_t at(int64_t w) const { return begin[w] + first[w] * apart; }
};

// T is float or double.
template <class T>
struct Lines {
  FourierParts<T> parts;
  int64_t size, count;
};

template <class T>
using Load = void (*)(const void* memory, const Places& places, int64_t length, Lines<T> lines);
template <class T>
using Store = void (*)(Lines<T> lines, const Places& places, int64_t kept, T scale, void* memory);

// Whether the numbers of all lines at the same index are dense in memory, as in columns.
bool are_adjacent(const Places& places, int64_t count) {
  for (int64_t w = 1; w < count; ++w) {
    if (places.at(w) != places.at(0) + w) return false;
  }
  return true;
}

// The lines in memory that begin at the places.
template <class Number>
std::array<Number*, kMostTogether> first_of_lines(Number* memory, const Places& places,
                                                  int64_t count) {
  std::array<Number*, kMostTogether> first{};
  for (int64_t w = 0; w < count; ++w) first[static_cast<size_t>(w)] = memory + places.at(w);
  return first;
}

// number(j, w) is number j of line w.
template <class T, class Get>
void load_each(const Lines<T>& lines, Get number) {
  for (int64_t w = 0; w < lines.count; ++w) {
    for (int64_t j = 0; j < lines.size; ++j) {
      const std::complex<T> value = number(j, w);
      lines.parts.re[j * lines.count + w] = value.real();
      lines.parts.im[j * lines.count + w] = value.imag();
    }
  }
}

template <class T, class Number>
void load_lines(const void* memory, const Places& places, int64_t, Lines<T> lines) {
  const auto* x = static_cast<const Number*>(memory);
  const int64_t step = places.step * places.apart;
  if (are_adjacent(places, lines.count)) {
    load_numbers(FourierRows<const Number>{x + places.at(0), lines.size, lines.count, step},
                 lines.parts);
  } else if (step == 1) {
    const auto first = first_of_lines(x, places, lines.count);
    load_numbers(FourierLines<const Number>{first.data(), lines.size, lines.count}, lines.parts);
  } else {
    load_each(lines, [&](int64_t j, int64_t w) { return x[places.at(w) + j * step]; });
  }
}

// If the transform of a line of `length` numbers is real, only its first half is in memory; the
// other half is its conjugate.
template <class T>
void load_halves(const void* memory, const Places& places, int64_t length, Lines<T> lines) {
  using Number = std::complex<T>;
  const auto* x = static_cast<const Number*>(memory);
  load_each(lines, [&](int64_t j, int64_t w) {
    const int64_t at = places.first[w] + j * places.step;
    const bool is_real = at == 0 || 2 * at == length, is_there = 2 * at <= length;
    const Number value = x[places.begin[w] + (is_there ? at : length - at) * places.apart];
    return is_real ? Number(value.real()) : is_there ? value : std::conj(value);
  });
}

// Rows that are far apart are written past the caches, if they are whole cache lines.
template <class Number>
FourierRows<Number> past_caches(FourierRows<Number> rows) {
  constexpr int64_t kNumber = sizeof(Number);
  const auto is_in_lines = [](int64_t bytes) { return bytes % kCacheLine == 0; };
  rows.is_past_caches = has_stores_past_caches() && rows.apart > rows.lanes &&
                        rows.count * rows.apart * kNumber >= kBytesPastCaches &&
                        is_in_lines(reinterpret_cast<intptr_t>(rows.first)) &&
                        is_in_lines(rows.lanes * kNumber) && is_in_lines(rows.apart * kNumber);
  return rows;
}

// Drops numbers from index `kept` on.
template <class T, class Number>
void store_lines(Lines<T> lines, const Places& places, int64_t kept, T scale, void* memory) {
  auto* y = static_cast<Number*>(memory);
  const int64_t step = places.step * places.apart;
  const auto kept_of = [&](int64_t w) {
    const int64_t first = places.first[w];
    return kept <= first ? 0 : std::min((kept - 1 - first) / places.step + 1, lines.size);
  };
  bool are_alike = true;
  for (int64_t w = 1; w < lines.count; ++w) are_alike &= kept_of(w) == kept_of(0);
  if (are_alike && are_adjacent(places, lines.count)) {
    const FourierRows<Number> rows{y + places.at(0), kept_of(0), lines.count, step};
    store_numbers(lines.parts, scale, past_caches(rows));
    return;
  }
  if (are_alike && step == 1) {
    const auto first = first_of_lines(y, places, lines.count);
    store_numbers(lines.parts, scale, FourierLines<Number>{first.data(), kept_of(0), lines.count});
    return;
  }
  for (int64_t w = 0; w < lines.count; ++w) {
    for (int64_t j = 0; j < kept_of(w); ++j) {
      const int64_t at = j * lines.count + w;
      const std::complex<T> value(lines.parts.re[at] * scale, lines.parts.im[at] * scale);
      if constexpr (std::is_same_v<Number, T>) {
        y[places.at(w) + j * step] = value.real();
      } else {
        y[places.at(w) + j * step] = value;
      }
    }
  }
}

template <class T>
Load<T> load_of(DType dtype) {
  return is_complex(dtype) ? load_lines<T, std::complex<T>> : load_lines<T, T>;
}
template <class T>
Store<T> store_of(DType dtype) {
  return is_complex(dtype) ? store_lines<T, std::complex<T>> : store_lines<T, T>;
}

// ---- real lines of even length, as complex lines of pairs

// With the transform Z of the pairs, of size h, and k' = h - k, the transform of the line is
// X[k] = E[k] + w^k O[k], where E[k] = (Z[k] + conj Z[k']) / 2, O[k] = (Z[k] - conj Z[k']) / 2i and
// w = exp(-pi i / h). `turns` are the powers of w.
template <class T>
struct Halves {
  int64_t size;  // h
  std::vector<T> turns_re, turns_im;

  explicit Halves(int64_t half) : size(half) {
    for (int64_t k = 0; 2 * k <= size; ++k) {
      const std::complex<double> root = root_of_unity(k, 2 * size);
      turns_re.push_back(static_cast<T>(root.real()));
      turns_im.push_back(static_cast<T>(root.imag()));
    }
  }
};

// From Z to X, which has h + 1 numbers.
template <class T>
void unpack(const Halves<T>& halves, FourierParts<T> z, FourierParts<T> x, int64_t lanes) {
  const int64_t end = halves.size * lanes;
  for (int64_t w = 0; w < lanes; ++w) {
    x.re[w] = z.re[w] + z.im[w];
    x.re[end + w] = z.re[w] - z.im[w];
    x.im[w] = x.im[end + w] = 0;
  }
  combine_halves<T>(
      {z, x, halves.size, lanes, halves.turns_re.data(), halves.turns_im.data(), T(-1)});
}

// From X to Z. The imaginary parts of the first and the last number of X count as 0.
template <class T>
void pack(const Halves<T>& halves, FourierParts<T> x, FourierParts<T> z, int64_t lanes) {
  const int64_t end = halves.size * lanes;
  for (int64_t w = 0; w < lanes; ++w) {
    z.re[w] = T(0.5) * (x.re[w] + x.re[end + w]);
    z.im[w] = T(0.5) * (x.re[w] - x.re[end + w]);
  }
  combine_halves<T>(
      {x, z, halves.size, lanes, halves.turns_re.data(), halves.turns_im.data(), T(1)});
}

// ---- passes

enum class Memory : uint8_t { kInput, kWork, kMatrix, kOutput };
constexpr size_t kNumMemories = 4;
using Memories = std::array<std::byte*, kNumMemories>;

// Transforms all lines of one dimension. Long lines are matrices of `rows` by `columns`: one pass
// transforms the columns, another the rows.
template <class T>
struct Pass {
  enum class Part : uint8_t { kLines, kColumns, kRows };
  Part part = Part::kLines;
  std::shared_ptr<const FourierLine<T>> line;
  bool is_backward = false;
  Memory from = Memory::kWork, to = Memory::kWork;
  Load<T> load = nullptr;
  Store<T> store = nullptr;
  Lanes lanes;                         // of the dimension
  int64_t size_from = 0, size_to = 0;  // of its lines in memory
  int64_t kept = kAll;
  T scale = 1;
  int64_t rows = 1, columns = 1;
  std::vector<T> turns_re, turns_im;  // factors of the columns: [rows][columns]
  // Set if a real side of the transform is read or written as complex numbers.
  std::shared_ptr<const Halves<T>> halves;

  // The length of a line of the dimension.
  int64_t length() const { return part == Part::kLines ? line->size() : rows * columns; }
  int64_t lines_of_one() const {
    return part == Part::kLines ? 1 : part == Part::kColumns ? columns : rows;
  }
  int64_t scratch_of_one() const {
    const int64_t of_halves = halves ? 2 * (line->size() + 1) : 0;
    return 2 * line->size() + line->scratch_size() + of_halves;
  }
  // Dense lines are not gathered if they are fast alone.
  bool is_alone() const {
    return part == Part::kLines && lanes.inner == 1 && line->is_fast_alone();
  }
  int64_t together() const {
    if (is_alone()) return 1;
    const int64_t bytes = scratch_of_one() * static_cast<int64_t>(sizeof(T));
    return std::clamp<int64_t>(kBytesTogether / bytes, 1, kMostTogether);
  }
  size_t scratch_bytes() const {
    return memory_product(static_cast<size_t>(together() * scratch_of_one()), sizeof(T));
  }

  void place(int64_t number, int64_t w, Places& source, Places& target) const;
  void turn(int64_t first, const Lines<T>& lines) const;
  bool run(const Memories& memories, int64_t first, int64_t count, T* scratch, Tiles& tiles) const;
};

// Sets the places of line w to those of line `number` of the pass. Between the two passes of a long
// line, its matrix is stored separately.
template <class T>
void Pass<T>::place(int64_t number, int64_t w, Places& source, Places& target) const {
  const int64_t of_one = lines_of_one(), at = number / of_one, within = number % of_one;
  const int64_t inner = lanes.inner, matrix = at * rows * columns;
  source.begin[w] = at / inner * size_from * inner + at % inner;
  target.begin[w] = at / inner * size_to * inner + at % inner;
  source.first[w] = target.first[w] = within;
  source.apart = target.apart = inner;
  if (part == Part::kColumns) {
    source.step = target.step = columns;
    target.begin[w] = matrix;
    target.apart = 1;
  } else if (part == Part::kRows) {
    source.begin[w] = matrix;
    source.first[w] = within * columns;
    source.apart = 1;
    target.step = rows;
  }
}

template <class T>
void Pass<T>::turn(int64_t first, const Lines<T>& lines) const {
  for (int64_t w = 0; w < lines.count;) {
    const int64_t column = (first + w) % columns;
    const int64_t count = std::min(lines.count - w, columns - column);
    const FourierParts<T> x = {lines.parts.re + w, lines.parts.im + w};
    multiply_numbers<T>({x, x, lines.size, count, lines.count, turns_re.data() + column,
                         turns_im.data() + column, columns, false});
    w += count;
  }
}

template <class T>
bool Pass<T>::run(const Memories& memories, int64_t first, int64_t count, T* scratch,
                  Tiles& tiles) const {
  Places source, target;
  for (int64_t w = 0; w < count; ++w) place(first + w, w, source, target);
  const int64_t size = line->size();
  const auto next_lines = [&](int64_t numbers) {
    T* const begin = std::exchange(scratch, scratch + 2 * numbers * count);
    return Lines<T>{{begin, begin + numbers * count}, numbers, count};
  };
  const bool is_to_real = halves && is_backward;
  const Lines<T> read = next_lines(is_to_real ? size + 1 : size);
  load(memories[static_cast<size_t>(from)], source, length(), read);
  Lines<T> x = is_to_real ? next_lines(size) : read;
  if (is_to_real) pack(*halves, read.parts, x.parts, count);
  // Exchanging real and imaginary parts before and after gives the inverse transform.
  if (is_backward) std::swap(x.parts.re, x.parts.im);
  T* const rest = std::exchange(scratch, scratch + line->scratch_size() * count);
  Lines<T> y = {is_alone() ? line->forward_alone(x.parts, rest, tiles)
                           : line->forward(x.parts, count, rest, tiles),
                size, count};
  if (part == Part::kColumns) turn(first, y);
  if (is_backward) std::swap(y.parts.re, y.parts.im);
  if (halves && !is_backward) {
    const Lines<T> all = next_lines(size + 1);
    unpack(*halves, y.parts, all.parts, count);
    y = all;
  }
  store(y, target, kept, scale, memories[static_cast<size_t>(to)]);
  return tiles.go_on(size * count * kStepCost);
}

template <class T>
struct FftPlan {
  std::vector<Pass<T>> passes;
  int64_t batch = 1, chunk = 1;              // a chunk of the batch at a time
  size_t input_bytes = 0, output_bytes = 0;  // per element of the batch
  size_t work = 0, matrix = 0, lines = 0;    // offsets in scratch
  size_t lines_bytes = 0;
};

template <class T>
void run_pass(const Pass<T>& pass, int64_t batch, const Memories& memories, size_t lines_bytes,
              std::byte* scratch) {
  const int64_t together = pass.together();
  const int64_t num_lines = batch * pass.lanes.outer * pass.lanes.inner * pass.lines_of_one();
  for_lanes((num_lines - 1) / together + 1, pass.line->size() * together, lines_bytes, scratch,
            [&](int64_t block, std::byte* memory, Tiles& tiles) {
              const int64_t first = block * together;
              return pass.run(memories, first, std::min(together, num_lines - first),
                              reinterpret_cast<T*>(memory), tiles);
            });
}

template <class T>
void run_fft(const KernelCall& call) {
  const auto& plan = *static_cast<const FftPlan<T>*>(call.data);
  auto* const scratch = static_cast<std::byte*>(call.scratch);
  for (int64_t i = 0; i < plan.batch; i += plan.chunk) {
    const auto at = static_cast<size_t>(i);
    const Memories memories = {static_cast<std::byte*>(call.operands[0]) + at * plan.input_bytes,
                               scratch + plan.work, scratch + plan.matrix,
                               static_cast<std::byte*>(call.operands[1]) + at * plan.output_bytes};
    for (const Pass<T>& pass : plan.passes) {
      run_pass(pass, std::min(plan.chunk, plan.batch - i), memories, plan.lines_bytes,
               scratch + plan.lines);
    }
  }
}

// ---- planning

int64_t matrix_rows(int64_t size) {
  return size >= kLongLine && is_smooth(size) ? rows_of_matrix(size) : 1;
}

template <class T>
void add_passes(std::vector<Pass<T>>& passes, Pass<T> pass, int64_t size) {
  const int64_t rows = matrix_rows(size);
  if (rows == 1) {
    auto line = std::make_shared<FourierLine<T>>(size);
    if (pass.lanes.inner == 1) line->prepare_alone();
    pass.line = std::move(line);
    passes.push_back(std::move(pass));
    return;
  }
  pass.rows = rows;
  pass.columns = size / rows;
  Pass<T> of_rows = pass;
  pass.part = Pass<T>::Part::kColumns;
  pass.line = std::make_shared<FourierLine<T>>(rows);
  pass.to = Memory::kMatrix;
  pass.kept = kAll;
  pass.turns_re.reserve(static_cast<size_t>(size));
  pass.turns_im.reserve(static_cast<size_t>(size));
  InterruptCounter counter;
  for (int64_t row = 0; row < rows; ++row) {
    counter.add(pass.columns);
    for (int64_t column = 0; column < pass.columns; ++column) {
      const std::complex<double> root = root_of_unity(row * column, size);
      pass.turns_re.push_back(static_cast<T>(root.real()));
      pass.turns_im.push_back(static_cast<T>(root.imag()));
    }
  }
  passes.push_back(std::move(pass));
  of_rows.part = Pass<T>::Part::kRows;
  of_rows.line = std::make_shared<FourierLine<T>>(of_rows.columns);
  of_rows.from = Memory::kMatrix;
  of_rows.load = load_lines<T, std::complex<T>>;
  passes.push_back(std::move(of_rows));
}

template <class T>
Kernel make_fft_of(Types inputs, Types outputs, const Params* params) {
  const auto& p = params_as<FftParams>(params);
  const std::vector<int64_t> lengths(p.fft_lengths.begin(), p.fft_lengths.end());
  const bool is_from_real = p.fft_type == "RFFT", is_to_real = p.fft_type == "IRFFT";
  const bool is_backward = is_to_real || p.fft_type == "IFFT";
  const auto last_of = [&](const ShapeDtype& array) { return array.shape().last(lengths.size()); };
  const auto size_of = [](auto shape) {
    int64_t size = 1;
    for (const int64_t n : shape) size *= n;
    return size;
  };
  // The array that the passes work on: the result, or the operand for IRFFT.
  const auto last = last_of(is_to_real ? inputs[0] : outputs[0]);
  const Shape shape(last.begin(), last.end());
  using Number = std::complex<T>;  // between passes
  auto plan = std::make_shared<FftPlan<T>>();

  std::vector<size_t> order;
  for (size_t i = 0; i < lengths.size(); ++i) order.push_back(i);
  // The dense dimension comes first, except for IRFFT: its last pass gives the real result, along
  // the last dimension.
  if (!is_to_real) std::rotate(order.begin(), order.end() - 1, order.end());
  // Real lines of even length are read or written as complex ones of half the length.
  const bool is_packed = (is_from_real || is_to_real) && lengths.back() > 0 &&
                         lengths.back() % 2 == 0 && matrix_rows(lengths.back() / 2) == 1;
  int64_t matrix_size = 0;
  for (const size_t dimension : order) {
    const bool is_last = dimension + 1 == lengths.size();
    const bool is_half = is_last && is_packed;
    const int64_t size = is_half ? lengths[dimension] / 2 : lengths[dimension];
    Pass<T> pass;
    pass.is_backward = is_backward;
    pass.load = load_lines<T, Number>;
    pass.store = store_lines<T, Number>;
    pass.lanes = lanes_of(shape, static_cast<int64_t>(dimension));
    pass.size_from = is_from_real && is_last ? size : shape[dimension];
    pass.size_to = is_to_real && is_last ? size : shape[dimension];
    if (is_from_real && is_last) pass.kept = shape[dimension];
    if (is_half) pass.halves = std::make_shared<const Halves<T>>(size);
    if (is_to_real && is_last && !is_half) pass.load = load_halves<T>;
    add_passes(plan->passes, std::move(pass), size);
    const Pass<T>& added = plan->passes.back();
    if (added.part == Pass<T>::Part::kRows) {
      matrix_size = std::max(matrix_size, size_of(shape) / shape[dimension] * size);
    }
  }
  // Each pass has its part of the scale, so that numbers between passes stay in range.
  for (Pass<T>& pass : plan->passes) {
    if (is_backward) pass.scale = 1 / static_cast<T>(pass.line->size());
  }
  Pass<T>&begin = plan->passes.front(), &end = plan->passes.back();
  const bool has_halves = is_to_real && lengths.size() == 1 && !is_packed;
  begin.load = has_halves                  ? load_halves<T>
               : is_packed && is_from_real ? load_lines<T, Number>
                                           : load_of<T>(inputs[0].dtype());
  begin.from = Memory::kInput;
  end.store = is_packed && is_to_real ? store_lines<T, Number> : store_of<T>(outputs[0].dtype());
  end.to = Memory::kOutput;

  const int64_t work_size = size_of(shape), input_size = size_of(last_of(inputs[0]));
  plan->batch = inputs[0].size() / input_size;
  plan->chunk = std::clamp<int64_t>(kChunk / work_size, 1, std::max<int64_t>(plan->batch, 1));
  plan->input_bytes = static_cast<size_t>(input_size) * byte_width(inputs[0].dtype());
  plan->output_bytes =
      static_cast<size_t>(size_of(last_of(outputs[0]))) * byte_width(outputs[0].dtype());
  ScratchParts scratch;
  const auto uses = [](Memory memory) {
    return [memory](const Pass<T>& pass) { return pass.from == memory || pass.to == memory; };
  };
  if (std::ranges::any_of(plan->passes, uses(Memory::kWork))) {
    plan->work = scratch.take(plan->chunk * work_size, sizeof(Number));
  }
  plan->matrix = scratch.take(plan->chunk * matrix_size, sizeof(Number));
  for (const Pass<T>& pass : plan->passes) {
    plan->lines_bytes = std::max(plan->lines_bytes, pass.scratch_bytes());
  }
  plan->lines = scratch.take(static_cast<int64_t>(plan->lines_bytes), 1);
  return {.run = run_fft<T>, .data = std::move(plan), .scratch_bytes = scratch.bytes()};
}

Kernel make_fft(Types inputs, Types outputs, const Params* params) {
  const DType dtype = outputs[0].dtype();
  const bool is_double = dtype == DType::kComplex128 || dtype == DType::kFloat64;
  return (is_double ? make_fft_of<double> : make_fft_of<float>)(inputs, outputs, params);
}

constexpr KernelRow kRows[] = {{"fft", make_fft, KernelTrait::kOneThreadPerLane}};

}  // namespace

std::span<const KernelRow> fft_rows() { return kRows; }

}  // namespace farcall::native
