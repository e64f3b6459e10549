// LinUCB with one linear model an arm (Li, Chu, Langford, Schapire, WWW 2010, algorithm 1).
//
//   A = I + sum x x',  b = sum r x,  theta = A^-1 b,  bound(x) = theta' x + alpha sqrt(x' A^-1 x)
//
// A^-1 and theta are kept up to date instead of A and b (Sherman-Morrison): no inversion.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace dstcc {

template <std::size_t N>
class LinearArm {
public:
    using Vector = std::array<double, N>;
    LinearArm() {
        for (std::size_t i = 0; i < N; ++i) inverse_[i][i] = 1;
    }
    const Vector& theta() const { return theta_; }
    const std::array<Vector, N>& inverse() const { return inverse_; }
    double mean(const Vector& x) const { return dot(theta_, x); }
    double bound(const Vector& x, double alpha) const { return mean(x) + alpha * std::sqrt(dot(x, times(x))); }
    void update(const Vector& x, double reward) {
        const Vector ax = times(x);
        const double scale = 1 / (1 + dot(x, ax)), error = reward - mean(x);
        for (std::size_t i = 0; i < N; ++i) {
            theta_[i] += scale * error * ax[i];
            for (std::size_t j = 0; j < N; ++j) inverse_[i][j] -= scale * ax[i] * ax[j];
        }
    }

private:
    static double dot(const Vector& a, const Vector& b) {
        double sum = 0;
        for (std::size_t i = 0; i < N; ++i) sum += a[i] * b[i];
        return sum;
    }
    Vector times(const Vector& x) const {
        Vector out{};
        for (std::size_t i = 0; i < N; ++i) out[i] = dot(inverse_[i], x);
        return out;
    }
    std::array<Vector, N> inverse_{};
    Vector theta_{};
};

}  // namespace dstcc
