// Everything known about a handler at compile time: its stage, the number and order of its
// parameters, the names of its attributes, its description. Rejects invalid handlers with plain
// messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <farcall/handler/detail/binding.h>
#include <farcall/handler/detail/metadata.h>
#include <farcall/handler/detail/names.h>
#include <farcall/handler/detail/returns.h>

namespace farcall::ffi::detail {

// Checks the default value of an attribute parameter; `option` is the index of its option.
template <typename Def, size_t option, typename T, typename Option>
struct DefaultOf {
  static constexpr bool kOk = true;
};
template <typename Def, size_t option, typename T, typename Default>
struct DefaultOf<Def, option, T, AttrWithDefault<Default>> {
  static constexpr auto kSpec = Def::spec();
  static constexpr AttrWithDefault<Default> kOption = detail::at<option>(kSpec.options);
  template <size_t... Is>
  static AttributeNamed<kOption.name[Is]...> named(std::index_sequence<Is...>);
  using Name = decltype(named(std::make_index_sequence<std::string_view(kOption.name).size()>{}));
  static constexpr bool kOk = CheckDefault<Name, T, Default, default_fits<T>(kOption.value)>::kOk;
};
template <typename Def, size_t option, typename T, bool is_attribute>
struct CheckDefaultOf {
  static constexpr bool kOk = true;
};
template <typename Def, size_t option, typename T>
struct CheckDefaultOf<Def, option, T, true>
    : DefaultOf<Def, option, T, decltype(option_type<option>(Def::spec()))> {};

// Def::spec() is a Spec, Def::name() is the handler's name.
template <typename Def,
          typename Params =
              typename FunctionTraits<typename decltype(Def::spec())::Function>::Params>
struct Shape;

template <typename Def, typename... Ps>
struct Shape<Def, TypeList<Ps...>> {
  using Params = TypeList<Ps...>;
  using Spec = decltype(Def::spec());
  using Return = typename FunctionTraits<typename Spec::Function>::Return;
  using Indices = std::index_sequence_for<Ps...>;
  template <typename P>
  static constexpr ParamKind kKindOf = Param<Bare<P>>::kKind;

  static constexpr Spec kSpec = Def::spec();

  static constexpr size_t count(ParamKind kind, size_t before) {
    constexpr ParamKind kinds[] = {kKindOf<Ps>..., ParamKind::kContext};
    size_t found = 0;
    for (size_t i = 0; i != before; ++i) found += kinds[i] == kind ? 1 : 0;
    return found;
  }
  static constexpr size_t count(ParamKind kind) { return count(kind, sizeof...(Ps)); }
  static constexpr size_t count_required([[maybe_unused]] ParamKind kind) {
    return (size_t{0} + ... + (kKindOf<Ps> == kind && !kIsOptional<Bare<Ps>> ? 1 : 0));
  }
  // Required buffers come before optional ones, optional ones before the remaining ones.
  static constexpr bool is_ordered(ParamKind kind, ParamKind rest) {
    constexpr ParamKind kinds[] = {kKindOf<Ps>..., ParamKind::kContext};
    constexpr bool optional[] = {kIsOptional<Bare<Ps>>..., false};
    int phase = 0;
    for (size_t i = 0; i != sizeof...(Ps); ++i) {
      if (kinds[i] != kind && kinds[i] != rest) continue;
      const int next = kinds[i] == rest ? 2 : optional[i] ? 1 : 0;
      if (next < phase || (phase == 2 && next == 2)) return false;
      phase = next;
    }
    return true;
  }

  static constexpr ExecutionStage stage() {
    ExecutionStage stage = ExecutionStage::kExecute;
    uint32_t traits = 0;
    each_option(stage, traits);
    return stage;
  }
  static constexpr uint32_t traits() {
    ExecutionStage stage = ExecutionStage::kExecute;
    uint32_t traits = 0;
    each_option(stage, traits);
    return traits;
  }
  static constexpr void each_option(ExecutionStage& stage, uint32_t& traits) {
    each_option(kSpec.options, stage, traits);
  }
  template <size_t... Is, typename... Options>
  static constexpr void each_option(const PackOf<std::index_sequence<Is...>, Options...>& options,
                                    ExecutionStage& stage, uint32_t& traits) {
    (take_option(detail::at<Is>(options), stage, traits), ...);
    (void)options;
  }

  template <size_t... Is>
  static constexpr bool defaults_are_ok(std::index_sequence<Is...>) {
    if constexpr (kNamesAreOk && !Spec::kTakesAll) {
      return (CheckDefaultOf<Def, Spec::option_of(count(ParamKind::kAttribute, Is)), Bare<Ps>,
                             kKindOf<Ps> == ParamKind::kAttribute>::kOk &
              ... & true);
    } else {
      return kNamesAreOk;
    }
  }

  static constexpr ExecutionStage kStage = stage();
  static constexpr bool kRuns =
      kStage == ExecutionStage::kExecute || kStage == ExecutionStage::kRecord;
  static constexpr size_t kNumArgs = count(ParamKind::kArgument);
  static constexpr size_t kNumRets = count(ParamKind::kResult);
  static constexpr size_t kNumAttrs = Spec::kTakesAll ? 0 : count(ParamKind::kAttribute);
  static constexpr size_t kNumBuffers =
      kNumArgs + kNumRets + count(ParamKind::kRemainingArgs) + count(ParamKind::kRemainingRets);

  using Returns = ReturnTraits<Return>;
  static_assert(
      Returns::kIsKnown,
      "farcall: a handler returns Error, void, Future, or a std::unique_ptr to new state, "
      "bare or in an ErrorOr");
  static_assert(!Returns::kIsState || !kRuns,
                "farcall: only the instantiate, prepare and initialize stages make state");
  static_assert(!Returns::kIsFuture || kRuns, "farcall: only the execute stage returns a Future");
  static_assert(kStage != ExecutionStage::kInstantiate || kNumBuffers == 0,
                "farcall: the instantiate stage sees attributes and no buffers");
  static_assert(is_ordered(ParamKind::kArgument, ParamKind::kRemainingArgs),
                "farcall: required arguments come first, then optional ones, then RemainingArgs");
  static_assert(is_ordered(ParamKind::kResult, ParamKind::kRemainingRets),
                "farcall: required results come first, then optional ones, then RemainingRets");
  static_assert(!Spec::kTakesAll || (count(ParamKind::kAttribute) == 1 && Spec::kNumNames == 0),
                "farcall: ffi::all_attributes goes with exactly one attribute parameter, a "
                "Dictionary or a struct, and with no names");
  static constexpr bool kParametersAreOk = (CheckParameter<Ps>::kOk & ... & true);
  static constexpr bool kNamesAreOk = kParametersAreOk && CheckNames < Spec::kNumNames,
                        Spec::kTakesAll ? 0 : count(ParamKind::kAttribute) > ::kOk;
  static constexpr bool kIsOk = kNamesAreOk && defaults_are_ok(Indices{});

  // ---- attributes ---------------------------------------------------------------------------

  static constexpr NameTable<kNumAttrs> make_names() {
    std::string_view names[kNumAttrs + 1] = {};
    fill_names(names, std::make_index_sequence < kIsOk ? kNumAttrs : 0 > {});
    return NameTable<kNumAttrs>(names);
  }
  template <size_t... Ks>
  static constexpr void fill_names(std::string_view* names, std::index_sequence<Ks...>) {
    ((names[Ks] = option_name(at<Spec::option_of(Ks)>(kSpec.options))), ...);
    (void)names;
  }
  template <typename Option>
  static constexpr const char* option_name(const Option& option) {
    return OptionTraits<Option>::name(option);
  }

  static constexpr NameTable<kNumAttrs> kNames = make_names();

  static_assert(!kNames.has_duplicates, "farcall: FARCALL_DEFINE_HANDLER names an attribute twice");

  template <size_t I, typename P>
  static constexpr ParamDesc describe() {
    constexpr ParamKind kind = kKindOf<P>;
    constexpr bool is_optional = kIsOptional<Bare<P>>;
    if constexpr (kind == ParamKind::kContext) {
      return {kind, is_optional, CtxDecoding<typename WithoutOptional<Bare<P>>::type>::kName,
              nullptr};
    } else if constexpr (kind != ParamKind::kAttribute || !kIsOk) {
      return {kind, is_optional, "", Param<Bare<P>>::type()};
    } else if constexpr (Spec::kTakesAll) {
      return {ParamKind::kAllAttributes, is_optional, "", Param<Bare<P>>::type()};
    } else {
      constexpr size_t number = count(ParamKind::kAttribute, I);
      return {kind, is_optional || has_default<number>(), kNames.names[number].data(),
              Param<Bare<P>>::type()};
    }
  }
  template <size_t... Is>
  static constexpr auto describe_all(std::index_sequence<Is...>) {
    struct Table {
      ParamDesc params[sizeof...(Is) + 1];
    };
    return Table{{describe<Is, Ps>()..., ParamDesc{}}};
  }
  template <size_t number>
  static constexpr bool has_default() {
    using Option = Bare<decltype(at<Spec::option_of(number)>(kSpec.options))>;
    return OptionTraits<Option>::kHasDefault;
  }
  static constexpr auto kParams = describe_all(Indices{});

  static constexpr StateType state_type() {
    if constexpr (Returns::kIsState) {
      return &TypeRecord<typename OwnerTraits<typename Returns::Owner>::Object>::id_in;
    } else {
      return nullptr;
    }
  }
  static constexpr StateType kStateType = state_type();
};

}  // namespace farcall::ffi::detail
