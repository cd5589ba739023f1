// Limits of distributions, for intervals and for what is beyond chance.
#ifndef GRAPHNET_BASE_DISTRIBUTIONS_H_
#define GRAPHNET_BASE_DISTRIBUTIONS_H_

namespace graphnet {

// Returns how many standard deviations a normal variable exceeds in either direction with probability
// `p`, which is in (0, 1].
double NormalLimit(double p);
// The same for Student's distribution, by Wallace's approximation. `degrees` is above 0.
double StudentLimit(double p, double degrees);

}  // namespace graphnet

#endif  // GRAPHNET_BASE_DISTRIBUTIONS_H_
