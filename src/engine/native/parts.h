// Parts of a program that run at the same time, on the calling thread and on workers of oneTBB.
#pragma once

#include <cstddef>
#include <functional>

namespace farcall::native {

// Calls work(part) for each part; parts may use threads themselves. Waits for all of them, then
// raises the error of the first part that failed. When the front end stops the program, or
// something else than an Error is thrown, the other parts stop too, and this is raised.
void run_parts(size_t count, const std::function<void(size_t part)>& work);

}  // namespace farcall::native
