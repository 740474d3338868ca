// Keys, the hash function, and the primitives on keys.
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tbb/task_arena.h>

#include <farcall/core/element_text.h>
#include <farcall/ops/callback.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/program/text.h>
#include <farcall/random/random.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "array_testing.h"

namespace farcall {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<uint32_t> words(const Array& keys) {
  const Array data = random::key_data(keys);
  const auto values = data.values<uint32_t>();
  return {values.begin(), values.end()};
}

Array word(uint32_t value) { return Array::scalar(value); }

std::vector<uint32_t> values_of(const Array& x) {
  const auto values = x.values<uint32_t>();
  return {values.begin(), values.end()};
}

// Blocks of hashes are shared among threads.
TEST(RandomBits, AreTheSameOnSeveralThreads) {
  const auto draw = [](int num_threads) {
    return tbb::task_arena(num_threads).execute([] {
      const Array key = random::key(Array(7));
      const Array many_keys = random::split(key, {70000});
      const Array counters = lax::iota(DType::kUInt32, {70000}, 0);
      const auto few_of_each = [](const Array& each) { return random::bits(each, {3}); };
      const auto many_of_each = [](const Array& each) { return random::bits(each, {1000}); };
      return std::vector{words(many_keys),
                         words(random::fold_in(key, word(3))),
                         values_of(random::bits(key, {300001})),
                         values_of(random::threefry2x32(word(1), word(2), word(3), counters).first),
                         values_of(vmap(few_of_each)(many_keys)),
                         values_of(vmap(many_of_each)(random::split(key, {100})))};
    });
  };
  EXPECT_EQ(draw(1), draw(4));
}

// Test vectors of the Random123 library, by the authors of the hash.
TEST(Threefry, HasThePublishedAnswers) {
  struct Answer {
    std::array<uint32_t, 2> key, counter, hash;
  };
  const Answer answers[] = {
      {{0, 0}, {0, 0}, {0x6b200159, 0x99ba4efe}},
      {{~0u, ~0u}, {~0u, ~0u}, {0x1cb996fc, 0xbb002be7}},
      {{0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}, {0xc4923a9c, 0x483df7a0}}};
  for (const auto& [key, counter, hash] : answers) {
    const auto [first, second] =
        random::threefry2x32(word(key[0]), word(key[1]), word(counter[0]), word(counter[1]));
    EXPECT_EQ(first.item<uint32_t>(), hash[0]);
    EXPECT_EQ(second.item<uint32_t>(), hash[1]);
  }
}

// The other primitives compute the hash of the key and of a counter.
TEST(Threefry, IsWhatBitsSplitAndFoldInAreMadeOf) {
  const Array key = random::wrap_key_data(Array::of<uint32_t>({7, 0x80000001}));
  for (const int64_t size : {0, 1, 31, 32, 511, 512, 513, 1500}) {
    const Array counters = lax::iota(DType::kUInt32, {size}, 0);
    const auto [first, second] = random::threefry2x32(word(7), word(0x80000001), word(0), counters);
    EXPECT_EQ(values_of(random::bits(key, {size})), values_of(first ^ second)) << size;
    EXPECT_EQ(words(random::split(key, {size})), values_of(numpy::stack({first, second}, 1)));
  }
  EXPECT_EQ(words(random::fold_in(key, 300)),
            words(numpy::take(random::split(key, {400}), {int64_t{300}})));
}

TEST(Threefry, BitsOfEveryWidth) {
  const Array key = random::key(3);
  const auto [first, second] =
      random::threefry2x32(word(0), word(3), word(0), lax::iota(DType::kUInt32, {5}, 0));
  for (int64_t i = 0; i < 5; ++i) {
    const uint32_t high = first.values<uint32_t>()[i], low = second.values<uint32_t>()[i];
    EXPECT_EQ(random::bits(key, {5}, DType::kUInt8).values<uint8_t>()[i],
              static_cast<uint8_t>(high ^ low));
    EXPECT_EQ(random::bits(key, {5}, DType::kUInt16).values<uint16_t>()[i],
              static_cast<uint16_t>(high ^ low));
    EXPECT_EQ(random::bits(key, {5}, DType::kUInt64).values<uint64_t>()[i],
              static_cast<uint64_t>(high) << 32 | low);
  }
}

// Many keys with few counters are hashed in another order than few keys with many counters.
TEST(Threefry, ManyKeysGiveWhatEachGives) {
  const auto draw = [](int64_t size) {
    return [size](const Array& key) { return random::bits(key, {size}); };
  };
  for (const int64_t count : {0, 1, 3, 512, 700}) {
    const Array keys = random::split(random::key(1), {count});
    for (const int64_t size : {1, 5, 40}) {
      const Array all = vmap(draw(size))(keys);
      for (const int64_t i : {int64_t{0}, count / 2, count - 1}) {
        if (i < 0 || i >= count) continue;
        EXPECT_EQ(values_of(numpy::take(all, {i})), values_of(draw(size)(numpy::take(keys, {i}))));
      }
    }
  }
}

TEST(Keys, OfSeeds) {
  EXPECT_THAT(words(random::key(42)), ElementsAre(0, 42));
  EXPECT_THAT(words(random::key(-1)), ElementsAre(0, ~0u));
  EXPECT_THAT(words(random::key((int64_t{5} << 32) + 9)), ElementsAre(5, 9));
  EXPECT_THAT(words(random::key(Array::scalar(int64_t{-1}))), ElementsAre(~0u, ~0u));
  EXPECT_THAT(words(random::key(Array::scalar(int8_t{-2}))), ElementsAre(0, ~0u - 1));
  EXPECT_THAT(words(random::key(Array::scalar(~uint64_t{0}))), ElementsAre(~0u, ~0u));
  EXPECT_EQ(words(random::PRNGKey(42)), words(random::key(42)));
  EXPECT_EQ(random::PRNGKey(42).type(), ShapeDtype(DType::kUInt32, {2}));
  EXPECT_EQ(random::key(42).type(), ShapeDtype(DType::kThreefryKey, {}));
}

TEST(Keys, RawOnesGiveRawOnes) {
  const Array raw = random::PRNGKey(5), typed = random::key(5);
  EXPECT_EQ(random::split(raw).type(), ShapeDtype(DType::kUInt32, {2, 2}));
  EXPECT_EQ(words(random::split(raw)), words(random::split(typed)));
  EXPECT_EQ(words(random::fold_in(raw, 9)), words(random::fold_in(typed, 9)));
  EXPECT_EQ(random::key_impl(raw), "threefry2x32");
  EXPECT_EQ(words(random::clone(typed)), words(typed));
}

TEST(Keys, TextIsTheSeed) {
  EXPECT_EQ(random::key(42).to_string(), "42");
  const Array key = random::key((int64_t{1} << 40) + 3);
  EXPECT_EQ(key.to_string(), "1099511627779");
  std::array<uint32_t, 2> read{};
  parse_element(DType::kThreefryKey, "1099511627779", read.data());
  EXPECT_THAT(read, ElementsAre(256, 3));
  EXPECT_THAT(message_of([&] { parse_element(DType::kThreefryKey, "-1", read.data()); }),
              HasSubstr("is not a value of key<fry>"));
}

TEST(Keys, AreComparedAndMoved) {
  const Array keys = random::split(random::key(0), {3});
  const auto equal = numpy::equal(keys, numpy::take(keys, {1}));
  EXPECT_THAT(equal.values<bool>(), ElementsAre(false, true, false));
  EXPECT_EQ(words(numpy::flip(numpy::flip(keys))), words(keys));
  const Array both = numpy::concatenate({keys, keys});
  EXPECT_EQ(both.type(), ShapeDtype(DType::kThreefryKey, {6}));
  const Array outside = numpy::take(keys, Array::of<int32_t>({5}), 0);
  EXPECT_THAT(words(outside), ElementsAre(~0u, ~0u));
}

TEST(Keys, AreNoNumbers) {
  const Array key = random::key(0);
  EXPECT_THAT(message_of([&] { key + 1; }), HasSubstr("key<fry>"));
  EXPECT_THAT(message_of([&] { lax::convert_element_type(key, DType::kUInt64); }),
              HasSubstr("random.key_data gives the words"));
  EXPECT_THAT(message_of([&] { lax::bitcast_convert_type(key, DType::kUInt64); }),
              HasSubstr("random.key_data gives the words"));
  EXPECT_THAT(message_of([&] { lax::sort(random::split(key), 0); }), HasSubstr("have no order"));
  EXPECT_THAT(message_of([&] { lax::lt(key, key); }), HasSubstr("key<fry>"));
  EXPECT_THAT(message_of([&] { lax::reduce_sum(random::split(key), {0}); }), HasSubstr("key<fry>"));
  EXPECT_THAT(message_of([&] { lax::clamp(key, key, key); }), HasSubstr("ordered numbers"));
  EXPECT_THAT(
      message_of([&] { lax::dot_general(random::split(key), random::split(key), {0}, {0}); }),
      HasSubstr("key<fry>"));
}

// One program with every primitive.
TEST(KeyPrimitives, ReadAsTheyWerePrinted) {
  const ProgramPtr program = make_jaxpr([](const Array& key, const Array& seed) {
    const Array other = random::fold_in(random::key(seed), 5);
    const Array made = random::wrap_key_data(random::key_data(random::split(key, {2, 3})));
    const auto [first, second] = random::threefry2x32(word(1), word(2), word(3), word(4));
    return std::tuple(random::bits(key, {2}, DType::kUInt64), other, made, first ^ second,
                      random::bits(random::key(42)));
  })(random::key(0), Array::scalar(int32_t{7}));
  const std::string text = to_text(*program);
  EXPECT_THAT(text, HasSubstr("random_bits[bit_width=64 shape=(2,)] a"));
  EXPECT_THAT(text, HasSubstr("random_split[shape=(2, 3)] a"));
  EXPECT_THAT(text, HasSubstr("random_wrap[impl=fry]"));
  EXPECT_THAT(text, HasSubstr(" 42:key<fry>[]"));
  const ProgramPtr read = parse_program(text);
  EXPECT_TRUE(*read == *program) << text;
  EXPECT_EQ(to_text(*read), text);
}

TEST(KeyPrimitives, TextThatDoesNotFitIsRefused) {
  const auto parse = [](const std::string& inputs, const std::string& equation) {
    return message_of(
        [&] { parse_program("{ lambda ; " + inputs + ". let " + equation + " in () }"); });
  };
  EXPECT_THAT(parse("a:u32[2]", "_:u32[] = random_bits[bit_width=32 shape=()] a"),
              HasSubstr("takes keys of dtype key<fry>; got u32[2]"));
  EXPECT_THAT(parse("a:key<fry>[]", "_:u32[] = random_bits[bit_width=31 shape=()] a"),
              HasSubstr("bit_width must be 8, 16, 32 or 64, got 31"));
  EXPECT_THAT(parse("a:key<fry>[]", "_:u32[] = random_bits[bit_width=32 shape=(-1,)] a"),
              HasSubstr("random_bits"));
  EXPECT_THAT(parse("a:u32[2]", "_:key<fry>[] = random_wrap[impl=rbg] a"), HasSubstr("impl"));
  EXPECT_THAT(parse("a:u32[3]", "_:key<fry>[] = random_wrap[impl=fry] a"),
              HasSubstr("last dimension has size 2"));
  EXPECT_THAT(parse("a:key<fry>[] b:i32[]", "_:key<fry>[] = random_fold_in a b"),
              HasSubstr("must be u32"));
  EXPECT_THAT(parse("a:key<fr", "_:key<fry>[] = copy a"), HasSubstr("dtype"));
  EXPECT_THAT(parse("a:u32[] b:i32[]", "_:u32[] _:u32[] = threefry2x32 a a a b"),
              HasSubstr("takes uint32"));
}

TEST(KeyPrimitives, ForeignFunctionsTakeNoKeys) {
  const Array key = random::key(0);
  EXPECT_THAT(message_of([&] {
                pure_callback([](std::span<const Array> x) { return std::vector<Array>{x[0]}; },
                              std::vector<ShapeDtype>{key.type()}, std::vector<Array>{Array(1.0)});
              }),
              HasSubstr("random.wrap_key_data"));
}

}  // namespace
}  // namespace farcall
