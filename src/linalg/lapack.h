// LAPACK's routines, overloaded for its four types. Matrices are column-major; each routine returns
// LAPACK's `info`.
//
// A row-major matrix is the transpose of a column-major one, so most handlers call the routine for
// the transposed problem and copy nothing.
#pragma once

#include <cblas.h>

#include <complex>
#include <type_traits>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapack.h>

namespace farcall::linalg::lapack {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

// The workspace of a routine. With size -1, the routine writes the best sizes to work[0], real[0]
// and whole[0].
template <class T>
struct Work {
  T* work = nullptr;
  int size = 0;
  Real<T>* real = nullptr;  // for complex matrices only
  int real_size = 0;
  int* whole = nullptr;
  int whole_size = 0;
};

// Eigenvalues are written as T; for real matrices, n real parts are followed by n imaginary parts.
#define FARCALL_LAPACK(T, p, orthogonal, symmetric)                                      \
  inline int potrf(char uplo, int n, T* a, int lda) {                                    \
    int info = 0;                                                                        \
    LAPACK_##p##potrf(&uplo, &n, a, &lda, &info);                                        \
    return info;                                                                         \
  }                                                                                      \
  inline int getrf(int m, int n, T* a, int lda, int* pivots) {                           \
    int info = 0;                                                                        \
    LAPACK_##p##getrf(&m, &n, a, &lda, pivots, &info);                                   \
    return info;                                                                         \
  }                                                                                      \
  inline int gelqf(int m, int n, T* a, int lda, T* tau, const Work<T>& w) {              \
    int info = 0;                                                                        \
    LAPACK_##p##gelqf(&m, &n, a, &lda, tau, w.work, &w.size, &info);                     \
    return info;                                                                         \
  }                                                                                      \
  inline int orglq(int m, int n, int k, T* a, int lda, const T* tau, const Work<T>& w) { \
    int info = 0;                                                                        \
    LAPACK_##p##orthogonal##glq(&m, &n, &k, a, &lda, tau, w.work, &w.size, &info);       \
    return info;                                                                         \
  }                                                                                      \
  inline int gehrd(int n, T* a, int lda, T* tau, const Work<T>& w) {                     \
    int info = 0;                                                                        \
    const int first = 1;                                                                 \
    LAPACK_##p##gehrd(&n, &first, &n, a, &lda, tau, w.work, &w.size, &info);             \
    return info;                                                                         \
  }                                                                                      \
  inline int sytrd(char uplo, int n, T* a, int lda, Real<T>* d, Real<T>* e, T* tau,      \
                   const Work<T>& w) {                                                   \
    int info = 0;                                                                        \
    LAPACK_##p##symmetric##trd(&uplo, &n, a, &lda, d, e, tau, w.work, &w.size, &info);   \
    return info;                                                                         \
  }
FARCALL_LAPACK(float, s, or, sy)
FARCALL_LAPACK(double, d, or, sy)
FARCALL_LAPACK(std::complex<float>, c, un, he)
FARCALL_LAPACK(std::complex<double>, z, un, he)
#undef FARCALL_LAPACK

#define FARCALL_LAPACK(T, p)                                                                       \
  inline int syevd(char jobz, char uplo, int n, T* a, int lda, T* values, const Work<T>& w) {      \
    int info = 0;                                                                                  \
    LAPACK_##p##syevd(&jobz, &uplo, &n, a, &lda, values, w.work, &w.size, w.whole, &w.whole_size,  \
                      &info);                                                                      \
    return info;                                                                                   \
  }                                                                                                \
  inline int gesdd(char jobz, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt,   \
                   const Work<T>& w) {                                                             \
    int info = 0;                                                                                  \
    LAPACK_##p##gesdd(&jobz, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, w.work, &w.size, w.whole,     \
                      &info);                                                                      \
    return info;                                                                                   \
  }                                                                                                \
  inline int geev(char left, char right, int n, T* a, int lda, T* values, T* vl, int ldvl, T* vr,  \
                  int ldvr, const Work<T>& w) {                                                    \
    int info = 0;                                                                                  \
    LAPACK_##p##geev(&left, &right, &n, a, &lda, values, values + n, vl, &ldvl, vr, &ldvr, w.work, \
                     &w.size, &info);                                                              \
    return info;                                                                                   \
  }                                                                                                \
  inline int gees(char vectors, int n, T* a, int lda, T* values, T* vs, int ldvs,                  \
                  const Work<T>& w) {                                                              \
    int info = 0, selected = 0;                                                                    \
    const char sort = 'N';                                                                         \
    LAPACK_##p##gees(&vectors, &sort, nullptr, &n, a, &lda, &selected, values, values + n, vs,     \
                     &ldvs, w.work, &w.size, nullptr, &info);                                      \
    return info;                                                                                   \
  }                                                                                                \
  inline int geqp3(int m, int n, T* a, int lda, int* columns, T* tau, const Work<T>& w) {          \
    int info = 0;                                                                                  \
    LAPACK_##p##geqp3(&m, &n, a, &lda, columns, tau, w.work, &w.size, &info);                      \
    return info;                                                                                   \
  }
FARCALL_LAPACK(float, s)
FARCALL_LAPACK(double, d)
#undef FARCALL_LAPACK

#define FARCALL_LAPACK(T, p)                                                                      \
  inline int syevd(char jobz, char uplo, int n, T* a, int lda, Real<T>* values,                   \
                   const Work<T>& w) {                                                            \
    int info = 0;                                                                                 \
    LAPACK_##p##heevd(&jobz, &uplo, &n, a, &lda, values, w.work, &w.size, w.real, &w.real_size,   \
                      w.whole, &w.whole_size, &info);                                             \
    return info;                                                                                  \
  }                                                                                               \
  inline int gesdd(char jobz, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt,      \
                   int ldvt, const Work<T>& w) {                                                  \
    int info = 0;                                                                                 \
    LAPACK_##p##gesdd(&jobz, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, w.work, &w.size, w.real,     \
                      w.whole, &info);                                                            \
    return info;                                                                                  \
  }                                                                                               \
  inline int geev(char left, char right, int n, T* a, int lda, T* values, T* vl, int ldvl, T* vr, \
                  int ldvr, const Work<T>& w) {                                                   \
    int info = 0;                                                                                 \
    LAPACK_##p##geev(&left, &right, &n, a, &lda, values, vl, &ldvl, vr, &ldvr, w.work, &w.size,   \
                     w.real, &info);                                                              \
    return info;                                                                                  \
  }                                                                                               \
  inline int gees(char vectors, int n, T* a, int lda, T* values, T* vs, int ldvs,                 \
                  const Work<T>& w) {                                                             \
    int info = 0, selected = 0;                                                                   \
    const char sort = 'N';                                                                        \
    LAPACK_##p##gees(&vectors, &sort, nullptr, &n, a, &lda, &selected, values, vs, &ldvs, w.work, \
                     &w.size, w.real, nullptr, &info);                                            \
    return info;                                                                                  \
  }                                                                                               \
  inline int geqp3(int m, int n, T* a, int lda, int* columns, T* tau, const Work<T>& w) {         \
    int info = 0;                                                                                 \
    LAPACK_##p##geqp3(&m, &n, a, &lda, columns, tau, w.work, &w.size, w.real, &info);             \
    return info;                                                                                  \
  }
FARCALL_LAPACK(std::complex<float>, c)
FARCALL_LAPACK(std::complex<double>, z)
#undef FARCALL_LAPACK

// Overwrites b with op(a)^-1 b or b op(a)^-1; all row-major.
struct Triangle {
  CBLAS_SIDE side;
  CBLAS_UPLO part;
  CBLAS_TRANSPOSE transpose;
  CBLAS_DIAG diagonal;
};
template <class T>
void trsm(const Triangle& t, int rows, int columns, const T* a, int lda, T* b, int ldb) {
  const T one = 1;
  if constexpr (std::is_same_v<T, float>) {
    cblas_strsm(CblasRowMajor, t.side, t.part, t.transpose, t.diagonal, rows, columns, one, a, lda,
                b, ldb);
  } else if constexpr (std::is_same_v<T, double>) {
    cblas_dtrsm(CblasRowMajor, t.side, t.part, t.transpose, t.diagonal, rows, columns, one, a, lda,
                b, ldb);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    cblas_ctrsm(CblasRowMajor, t.side, t.part, t.transpose, t.diagonal, rows, columns, &one, a, lda,
                b, ldb);
  } else {
    cblas_ztrsm(CblasRowMajor, t.side, t.part, t.transpose, t.diagonal, rows, columns, &one, a, lda,
                b, ldb);
  }
}

}  // namespace farcall::linalg::lapack
