"""What each CPU product shows in /proc/cpuinfo, sysfs and lscpu."""

from __future__ import annotations

from dataclasses import dataclass

_X86 = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx "
    "pdpe1gb rdtscp lm constant_tsc rep_good nopl nonstop_tsc cpuid aperfmperf pni pclmulqdq ssse3 fma cx16 sse4_1 "
    "sse4_2 x2apic movbe popcnt aes xsave avx f16c rdrand lahf_lm abm fsgsbase bmi1 avx2 smep bmi2 erms invpcid rdseed "
    "adx smap clflushopt clwb sha_ni"
)
_INTEL = f"{_X86} avx512f avx512dq avx512cd avx512bw avx512vl avx512_bf16 amx_bf16 amx_tile amx_int8"
_AMD = f"{_X86} svm extapic cr8_legacy sse4a topoext"
_ARM = (
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 sm4 "
    "asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm sb dcpodp sve2 sveaes svepmull svebitperm svesha3 svesm4 flagm2 "
    "frint svei8mm svebf16 i8mm bf16 dgh bti"
)


@dataclass(frozen=True, kw_only=True)
class Processor:
    """One CPU product; cores are those of one socket, clocks in kHz, driver is what scales its frequency."""

    model_name: str
    vendor: str
    family: int
    model: int
    stepping: int
    microcode: str = ""
    base_khz: int
    least_khz: int
    highest_khz: int
    cache_kbytes: int
    flags: str
    cores: int
    driver: str
    isa: str = "x86_64"


XEON_8480C = Processor(
    model_name="Intel(R) Xeon(R) Platinum 8480C", vendor="GenuineIntel", family=6, model=143, stepping=8,
    microcode="0x2b000639", base_khz=2_000_000, least_khz=800_000, highest_khz=3_800_000, cache_kbytes=107_520,
    flags=_INTEL, cores=56, driver="intel_pstate",
)
XEON_8570 = Processor(
    model_name="INTEL(R) XEON(R) PLATINUM 8570", vendor="GenuineIntel", family=6, model=207, stepping=2,
    microcode="0x210002b3", base_khz=2_100_000, least_khz=800_000, highest_khz=4_000_000, cache_kbytes=307_200,
    flags=_INTEL, cores=56, driver="intel_pstate",
)
EPYC_7742 = Processor(
    model_name="AMD EPYC 7742 64-Core Processor", vendor="AuthenticAMD", family=23, model=49, stepping=0,
    microcode="0x830107d", base_khz=2_250_000, least_khz=1_500_000, highest_khz=2_250_000, cache_kbytes=512, flags=_AMD,
    cores=64, driver="acpi-cpufreq",
)
EPYC_9354 = Processor(
    model_name="AMD EPYC 9354 32-Core Processor", vendor="AuthenticAMD", family=25, model=17, stepping=1,
    microcode="0xa10114c", base_khz=3_250_000, least_khz=1_500_000, highest_khz=3_799_072, cache_kbytes=1024,
    flags=_AMD, cores=32, driver="acpi-cpufreq",
)
GRACE = Processor(
    model_name="Neoverse-V2", vendor="ARM", family=0, model=0xD4F, stepping=0, base_khz=3_402_000, least_khz=81_000,
    highest_khz=3_402_000, cache_kbytes=1024, flags=_ARM, cores=72, driver="cppc_cpufreq", isa="aarch64",
)
