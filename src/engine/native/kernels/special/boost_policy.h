// The Boost.Math policy: nothing throws, and nothing is promoted, because the argument already has
// the type to compute in.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace farcall::native {

namespace policies = boost::math::policies;

using BoostPolicy = policies::policy<
    policies::promote_double<false>, policies::domain_error<policies::ignore_error>,
    policies::pole_error<policies::ignore_error>, policies::overflow_error<policies::ignore_error>,
    policies::underflow_error<policies::ignore_error>,
    policies::denorm_error<policies::ignore_error>,
    policies::rounding_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>,
    policies::indeterminate_result_error<policies::ignore_error>>;

}  // namespace farcall::native
