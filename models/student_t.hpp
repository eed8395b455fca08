// Student's t distribution.
#pragma once

namespace rollcast {

// The t that |T| does not pass with this probability (0 < within < 1), T with so many degrees of freedom (>=
// 1): by bisection on the closed form for whole degrees (Abramowitz and Stegun, Handbook of Mathematical
// Functions, 26.7.3 and 26.7.4). std::logic_error for other arguments.
double t_within(double within, int degrees);

}  // namespace rollcast
