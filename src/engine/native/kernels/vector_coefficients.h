// Made by scripts/minimax_coefficients.py, which see; not to be edited.
// Polynomials from the constant on, for float and double.
#pragma once

namespace farcall::native {

template <class T>
struct Coefficients;

template <>
struct Coefficients<float> {
  // (e^r - 1 - r) / r^2: 2^-29.5
  static constexpr float kExp[] = {0x1.0000000000000p-1f,  0x1.5555560000000p-3f,
                                   0x1.5554e80000000p-5f,  0x1.1110ac0000000p-7f,
                                   0x1.6d43b80000000p-10f, 0x1.a17eac0000000p-13f};
  // (2 atanh(s) - 2 s) / s^3 of s^2: 2^-29.2
  static constexpr float kLog[] = {0x1.55557a0000000p-1f, 0x1.995e800000000p-2f,
                                   0x1.31e9d00000000p-2f};
  // (sin r - r) / r^3 of r^2: 2^-28.0
  static constexpr float kSin[] = {-0x1.5555460000000p-3f, 0x1.1107560000000p-7f,
                                   -0x1.994afc0000000p-13f};
  // (cos r - 1 + r^2 / 2) / r^4 of r^2: 2^-33.3
  static constexpr float kCos[] = {0x1.55554a0000000p-5f, -0x1.6c0c820000000p-10f,
                                   0x1.99ff800000000p-16f};
  // (sinh r - r) / r^3 of r^2: 2^-37.5
  static constexpr float kSinh[] = {0x1.5555560000000p-3f, 0x1.1110b20000000p-7f,
                                    0x1.a1708e0000000p-13f};
  // (cosh r - 1 - r^2 / 2) / r^4 of r^2: 2^-33.2
  static constexpr float kCosh[] = {0x1.5554e60000000p-5f, 0x1.6d4f740000000p-10f};
  // (asin x - x) / x^3 of x^2: 2^-27.6
  static constexpr float kAsin[] = {0x1.5555cc0000000p-3f, 0x1.3300d40000000p-4f,
                                    0x1.74997e0000000p-5f, 0x1.8b175e0000000p-6f,
                                    0x1.5a588c0000000p-5f};
  // (atan t - t) / t^3 of t^2: 2^-30.5
  static constexpr float kAtan[] = {-0x1.55554a0000000p-2f, 0x1.9991a20000000p-3f,
                                    -0x1.23b5c80000000p-3f, 0x1.b1f2f40000000p-4f,
                                    -0x1.f2032c0000000p-5f};
  // erf(x) / x - 1 of x^2: 2^-29.9
  static constexpr float kErf[] = {0x1.06eba80000000p-3f, -0x1.8127380000000p-2f,
                                   0x1.ce27400000000p-4f, -0x1.b6a9ba0000000p-6f,
                                   0x1.37c70e0000000p-8f};
  // (1 + 2 x) e^(x^2) erfc(x) of t = (x - c) / (x + c), c = 2.0: 2^-27.6
  static constexpr float kErfc[] = {0x1.46e80e0000000p+0f,   -0x1.7bf5dc0000000p-4f,
                                    -0x1.54080a0000000p-3f,  0x1.4ff8e00000000p-3f,
                                    -0x1.bc14c00000000p-5f,  -0x1.066ac40000000p-7f,
                                    0x1.1b670e0000000p-7f,   0x1.3003ce0000000p-10f,
                                    -0x1.47b2540000000p-10f, -0x1.01b2ae0000000p-12f};
  // the cube root: 2^-16.7
  static constexpr float kCbrt[] = {0x1.0393600000000p-1f, 0x1.6fb0400000000p-1f,
                                    -0x1.33d0220000000p-2f, 0x1.609b360000000p-4f,
                                    -0x1.5b6fd20000000p-7f};
  // erf_inv(x) / x of w - 5/2, w = -log(1 - x^2) < 5: 2^-27.2
  static constexpr float kErfInvCenter[] = {0x1.805c5e0000000p+0f,   0x1.f91e8c0000000p-3f,
                                            -0x1.11c50a0000000p-8f,  -0x1.4866b20000000p-10f,
                                            0x1.c9ea700000000p-13f,  -0x1.4ca8960000000p-18f,
                                            -0x1.d106aa0000000p-19f, 0x1.f2da7e0000000p-22f,
                                            0x1.923de40000000p-26f,  -0x1.29aea60000000p-27f};
  // erf_inv(x) / x of sqrt(w) - 3, w >= 5: 2^-27.4
  static constexpr float kErfInvTail[] = {0x1.6a9efc0000000p+1f,   0x1.006dc80000000p+0f,
                                          0x1.35845c0000000p-7f,   -0x1.f4a7a20000000p-8f,
                                          0x1.746f840000000p-8f,   -0x1.d627680000000p-9f,
                                          0x1.8856d00000000p-10f,  -0x1.42c6cc0000000p-14f,
                                          -0x1.4f02fa0000000p-12f, 0x1.0f8b6c0000000p-13f};
  // log 2
  static constexpr float kLog2[] = {0x1.62e4300000000p-1f, -0x1.05c6100000000p-29f};
  // log 2
  static constexpr float kShortLog2[] = {0x1.62e8000000000p-1f, -0x1.e8082e0000000p-16f};
  // log10 2
  static constexpr float kShortLog10Of2[] = {0x1.3440000000000p-2f, 0x1.3509f80000000p-18f};
  // 1 / log 2
  static constexpr float kLog2OfE[] = {0x1.7154760000000p+0f, 0x1.4ae0c00000000p-26f};
  // 1 / log 10
  static constexpr float kLog10OfE[] = {0x1.bcb7b20000000p-2f, -0x1.5b235e0000000p-27f};
  // pi / 2
  static constexpr float kHalfPi[] = {0x1.921fb60000000p+0f, -0x1.777a5c0000000p-25f,
                                      -0x1.ee59da0000000p-50f};
  // 2 / pi
  static constexpr float kTwoOverPi[] = {0x1.45f3060000000p-1f};
  // the cube roots of 2 and 4
  static constexpr float kCubeRoots[] = {0x1.428a300000000p+0f, 0x1.965fea0000000p+0f};
  // the c of erfc
  static constexpr float kErfcCenter[] = {0x1.0000000000000p+1f};
};

template <>
struct Coefficients<double> {
  // (e^r - 1 - r) / r^2: 2^-59.3
  static constexpr double kExp[] = {
      0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555558p-5,  0x1.11111111100bdp-7,
      0x1.6c16c16c151ccp-10, 0x1.a01a01abf8a8ep-13, 0x1.a01a01ad0ca59p-16, 0x1.71de01fce71cfp-19,
      0x1.27e4cca2d4ee8p-22, 0x1.af4e56d3373b2p-26, 0x1.1f8b95345c29ap-29};
  // (2 atanh(s) - 2 s) / s^3 of s^2: 2^-58.5
  static constexpr double kLog[] = {
      0x1.5555555555593p-1, 0x1.999999997f8f4p-2, 0x1.249249423a35fp-2, 0x1.c71c51c9a120ap-3,
      0x1.74664cd7bd912p-3, 0x1.39a03dd2ae277p-3, 0x1.2f1530b5a3082p-3};
  // (sin r - r) / r^3 of r^2: 2^-58.0
  static constexpr double kSin[] = {-0x1.5555555555549p-3,  0x1.111111110f844p-7,
                                    -0x1.a01a019c0a63ap-13, 0x1.71de35712be8ep-19,
                                    -0x1.ae5e60e53674ap-26, 0x1.5d9166740b574p-33};
  // (cos r - 1 + r^2 / 2) / r^4 of r^2: 2^-64.2
  static constexpr double kCos[] = {0x1.555555555554cp-5,  -0x1.6c16c16c15143p-10,
                                    0x1.a01a019cabb6bp-16, -0x1.27e4f8055c210p-22,
                                    0x1.1ee9e8a844e67p-29, -0x1.8facdc07a693bp-37};
  // (sinh r - r) / r^3 of r^2: 2^-61.7
  static constexpr double kSinh[] = {0x1.5555555555559p-3, 0x1.111111110f67dp-7,
                                     0x1.a01a01affb59cp-13, 0x1.71ddf815d745ep-19,
                                     0x1.af5f341d7db66p-26};
  // (cosh r - 1 - r^2 / 2) / r^4 of r^2: 2^-57.3
  static constexpr double kCosh[] = {0x1.5555555553120p-5, 0x1.6c16c17d0e0afp-10,
                                     0x1.a019aa3d7e02fp-16, 0x1.28a07ccc9ed38p-22};
  // (asin x - x) / x^3 of x^2: 2^-55.8
  static constexpr double kAsin[] = {
      0x1.555555555537ap-3, 0x1.3333333371167p-4, 0x1.6db6db40c57dap-5,  0x1.f1c72cc82cfdbp-6,
      0x1.6e89e6a9e9e8cp-6, 0x1.1c6cb08d43a48p-6, 0x1.c6edab58315c7p-7,  0x1.8f2d413d2a00cp-7,
      0x1.a8337bb5f1d5ap-8, 0x1.426f8dff57828p-6, -0x1.0dbb6fa0ba81ep-6, 0x1.06c586d1880aap-5};
  // (atan t - t) / t^3 of t^2: 2^-59.4
  static constexpr double kAtan[] = {
      -0x1.555555555553dp-2, 0x1.99999999957dfp-3, -0x1.24924922aa269p-3, 0x1.c71c70e4c5aa5p-4,
      -0x1.745cf8b52712dp-4, 0x1.3b11162f15133p-4, -0x1.10eb94897a894p-4, 0x1.df0d1dedeb1a4p-5,
      -0x1.9cc845dd3ad0ep-5, 0x1.37b968cf1ccbfp-5, -0x1.2528feb82993ap-6};
  // erf(x) / x - 1 of x^2: 2^-58.8
  static constexpr double kErf[] = {
      0x1.06eba8214db68p-3,  -0x1.812746b0379cdp-2,  0x1.ce2f21a03fc7ep-4,
      -0x1.b82ce31077613p-6, 0x1.565bcc5533e33p-8,   -0x1.c02d6b1facaf4p-11,
      0x1.f992471fe058ap-14, -0x1.f2894863220a5p-17, 0x1.8ec6bf73116dep-20};
  // (1 + 2 x) e^(x^2) erfc(x) of t = (x - c) / (x + c), c = 3.75: 2^-56.6
  static constexpr double kErfc[] = {
      0x1.3ccda0b5d5dc2p+0,  -0x1.1f367683f899fp-3,  0x1.d5f294815b845p-9,   0x1.510169d095f93p-4,
      -0x1.bda9309a2bf4cp-4, 0x1.7a14188aadcc6p-4,   -0x1.e0d0fa6d53385p-5,  0x1.d0b003785407bp-6,
      -0x1.3f603c5754f6bp-7, 0x1.cc3a1166d1fc2p-10,  0x1.33fb46ec09d3ap-12,  -0x1.303fe8aee548dp-12,
      0x1.b13f04e582350p-15, 0x1.779b1c3564ad7p-16,  -0x1.7fc5ce8ac6409p-17, -0x1.0793c8a88180cp-20,
      0x1.d26544ecaeeecp-20, -0x1.856870be13de5p-25, -0x1.01d3e17412e73p-22, 0x1.d199fe7e7e60ap-27,
      0x1.a55ffc20a1912p-26};
  // the cube root: 2^-22.5
  static constexpr double kCbrt[] = {
      0x1.c9dee5253b54cp-2,  0x1.e674847369eb1p-1, -0x1.55172ca93c924p-1, 0x1.8aa04e1512409p-2,
      -0x1.27e3f3f99048bp-3, 0x1.fa5d2e84c7844p-6, -0x1.76d81f45e7385p-9};
  // log 2
  static constexpr double kLog2[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  // log 2
  static constexpr double kShortLog2[] = {0x1.62e42fefa4000p-1, -0x1.8432a1b0e2634p-43};
  // log10 2
  static constexpr double kShortLog10Of2[] = {0x1.34413509f8000p-2, -0x1.80433b83b532ap-44};
  // 1 / log 2
  static constexpr double kLog2OfE[] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
  // 1 / log 10
  static constexpr double kLog10OfE[] = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
  // pi / 2
  static constexpr double kHalfPi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                       -0x1.f1976b7ed8fbcp-110};
  // 2 / pi
  static constexpr double kTwoOverPi[] = {0x1.45f306dc9c883p-1};
  // the cube roots of 2 and 4
  static constexpr double kCubeRoots[] = {0x1.428a2f98d728bp+0, 0x1.965fea53d6e3dp+0};
  // the c of erfc
  static constexpr double kErfcCenter[] = {0x1.e000000000000p+1};
};

}  // namespace farcall::native
