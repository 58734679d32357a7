//! Requirements, by mode, version, brand and what is known of the host.

use crate::start::Step;
use crate::start::step_tests::expect;
use crate::start::step_tests::hosts;
use crate::start::step_tests::image;
use crate::start::step_tests::step;

const GPUS: &str = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";
const ORIN: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\ngpu = \"Jetson AGX Orin\"\n\
    platform = \"linux/arm64\"\ndriver = \"540.4.0\"\ndriver_cuda = \"12.6\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";

fn requires(value: &str) -> String {
    format!("NVIDIA_REQUIRE_CUDA = \"{value}\"")
}

#[test]
fn every_variable_counts_and_the_message_names_its_first_term() {
    let hint = "unsatisfied condition: cuda>=12.9, please update your driver to a newer version";
    expect(
        Step::Requirement,
        &[
            (GPUS, "", "passes", ""),
            (GPUS, &requires("cuda>=12.4"), "passes", ""),
            (GPUS, &requires("cuda>=12.9"), "requirement", hint),
            (GPUS, &requires("cuda>=12.9 driver>=535,driver<536"), "requirement", hint),
            (GPUS, &requires("cuda>=12.9 driver>=550,driver<551"), "passes", ""),
            (GPUS, "NVIDIA_REQUIRE_ARCH = \"arch>=9.0\"", "requirement", "unsatisfied condition: arch>=9.0"),
            (
                GPUS,
                &format!("{}\nNVIDIA_REQUIRE_X = \"driver<550\"", requires("cuda>=12")),
                "requirement",
                "driver<550",
            ),
            (GPUS, "CUDA_VERSION = \"12.9.1\"", "requirement", hint),
            (GPUS, "NVIDIA_REQUIRE_JETPACK = \"csv-mounts=all\"", "passes", ""),
            (GPUS, "nvidia_require_cuda = \"cuda>=99\"", "passes", ""),
        ],
    );
}

#[test]
fn an_older_check_words_it_otherwise() {
    let of = |toolkit: &str| {
        format!("launch = \"docker-gpus\"\ntoolkit = \"{toolkit}\"\ngpu = \"Tesla P100\"\ndriver = \"390.77\"")
    };
    let tail = |text: &str| format!("nvidia-container-cli: requirement error: unsatisfied condition: {text}");
    let many = requires("cuda>=10.0 brand=tesla,driver>=384,driver<385");
    for (toolkit, value, expected) in [
        ("1.0.0", &many, "driver < 385"),
        ("1.0.3", &many, "driver < 385"),
        ("1.0.3", &requires("cuda>=10.0 brand=geforce,driver>=384,driver<385"), "brand = geforce"),
        ("1.0.3", &requires("cuda>=10.0"), "cuda >= 10.0"),
        ("1.0.3", &requires("driver!390.77"), "driver != 390.77"),
        ("1.0.4", &many, "cuda>=10.0"),
        ("1.0.5", &many, "cuda>=10.0"),
        ("1.0.6", &many, "cuda>=10.0, please update your driver to a newer version, or use an earlier cuda container"),
        ("1.0.6", &requires("driver>=400"), "driver>=400"),
        ("1.17.8", &many, "cuda>=10.0, please update your driver to a newer version, or use an earlier cuda container"),
    ] {
        let (_, told) = step(&image(&format!("[env]\n{value}\n")), &hosts(&of(toolkit))[0], Step::Requirement);
        assert!(told.ends_with(&tail(expected)), "{toolkit} {value}: {told}");
    }
}

#[test]
fn what_cannot_be_read_says_so() {
    let many: Vec<String> = (0..33).map(|at| format!("NVIDIA_REQUIRE_X{at} = \"cuda>=9.0\"")).collect();
    let many = many.join("\n");
    expect(
        Step::Requirement,
        &[
            (GPUS, &requires("cuda>=10_0"), "malformed-requirement", "requirement error: invalid expression"),
            (GPUS, &requires("foo=1"), "malformed-requirement", "invalid expression"),
            (GPUS, &requires("cuda>=12.4 foo=1"), "passes", ""),
            (
                GPUS,
                "CUDA_VERSION = \"cu121\"",
                "malformed-requirement",
                "failed to get requirements failed to get version: invalid CUDA version cu121: invalid version string",
            ),
            (GPUS, &many, "malformed-requirement", "nvidia-container-cli: input error: too many requirements"),
        ],
    );
}

#[test]
fn the_switches_have_readers_of_their_own() {
    let option = format!("{GPUS}\n[pool.host]\ndisable-require = true");
    let csv_option = format!("{ORIN}\n[pool.host]\ndisable-require = true");
    let at_run_time = format!("{GPUS}\nenv = {{ NVIDIA_DISABLE_REQUIRE = \"true\" }}");
    let over_it = format!("{GPUS}\nenv = {{ NVIDIA_REQUIRE_CUDA = \"cuda>=12\" }}");
    let enroot = "launch = \"enroot\"\ntoolkit = \"1.17.8\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
    let too_new = requires("cuda>=12.9");
    let with = |line: &str| format!("{too_new}\n{line}");
    expect(
        Step::Requirement,
        &[
            (&option, &too_new, "n/a", "disable-require"),
            (&csv_option, &too_new, "requirement", ""),
            (&at_run_time, &too_new, "n/a", "NVIDIA_DISABLE_REQUIRE"),
            (&over_it, &too_new, "passes", ""),
            (GPUS, &with("NVIDIA_DISABLE_REQUIRE = \"1\""), "n/a", ""),
            (GPUS, &with("NVIDIA_DISABLE_REQUIRE = \"yes\""), "requirement", ""),
            (GPUS, &with("NVIDIA_DISABLE_REQUIRE = \"\""), "requirement", ""),
            (enroot, &with("NVIDIA_DISABLE_REQUIRE = \"yes\""), "n/a", ""),
            (enroot, &too_new, "requirement", "cuda>=12.9"),
            (enroot, "CUDA_VERSION = \"12.9.1\"", "passes", ""),
        ],
    );
}

#[test]
fn the_csv_mode_sees_cuda_and_arch_alone() {
    expect(
        Step::Requirement,
        &[
            (ORIN, &requires("cuda>=12.6"), "passes", ""),
            (
                ORIN,
                &requires("cuda>=12.9"),
                "requirement",
                "requirements not met: unsatisfied condition: cuda>=12.9 (cuda=12.6)",
            ),
            (ORIN, &requires("driver>=450"), "requirement", "requirements not met"),
            (ORIN, &requires("brand=nvidia"), "requirement", ""),
            (ORIN, &requires("CUDA>=99"), "passes", ""),
            (ORIN, &requires("cuda>=12.9 driver>=450.80.02"), "malformed-requirement", "requirements not met"),
            // The code after the newest release reads leading zeros, and finds no driver version to compare.
            (&ORIN.replace("1.17.8", "1.20.1"), &requires("cuda>=12.6 driver>=450.80.02"), "passes", ""),
            (ORIN, &requires("cuda>=12.6 driver>=450.80.02"), "malformed-requirement", ""),
            (ORIN, "CUDA_VERSION = \"cu121\"", "malformed-requirement", "failed to get image requirements"),
        ],
    );
}

#[test]
fn an_older_check_calls_newer_brands_unknown() {
    let new = "launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\nbrand = \"nvidiartx\"";
    let old = "launch = \"docker-gpus\"\ntoolkit = \"1.8.1\"\nbrand = \"nvidiartx\"";
    let plain = "launch = \"docker-gpus\"\ntoolkit = \"1.8.1\"\nbrand = \"tesla\"";
    let library =
        "launch = \"docker-gpus\"\ntoolkit = \"1.5.1\"\nlibnvidia_container = \"1.8.0\"\nbrand = \"nvidiartx\"";
    expect(
        Step::Requirement,
        &[
            (new, &requires("brand=nvidiartx"), "passes", ""),
            (new, &requires("brand=unknown"), "requirement", ""),
            (old, &requires("brand=nvidiartx"), "requirement", "brand=nvidiartx"),
            (old, &requires("brand=unknown"), "passes", ""),
            (library, &requires("brand=nvidiartx"), "requirement", ""),
            (plain, &requires("brand=tesla"), "passes", ""),
            (plain, &requires("brand=unknown"), "requirement", ""),
        ],
    );
}

#[test]
fn an_unknown_brand_matters_only_where_brands_differ() {
    let own = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\ngpu = \"Own\"\ncompute_capability = \"9.0\"";
    expect(
        Step::Requirement,
        &[
            (own, &requires("cuda>=12.9 brand=tesla"), "unknown", "brand"),
            (own, &requires("cuda>=12.4 brand=tesla"), "passes", ""),
            // Whatever the brand, one of two holds; no brand is both of two.
            (own, &requires("brand=tesla brand!=tesla"), "passes", ""),
            (own, &requires("brand=tesla,brand=geforce"), "requirement", "brand=tesla,brand=geforce"),
            (own, &requires("brand=nobody"), "requirement", "brand=nobody"),
            (own, &requires("brand>tesla"), "malformed-requirement", ""),
            (own, &requires("cuda>=12.9"), "requirement", ""),
        ],
    );
}

#[test]
fn a_requirement_nobody_can_tell_is_none_that_refuses() {
    let found = |untold: &str, variables: &str, fields: &str| {
        let image = image(&format!(
            "env_unknown = [\"{untold}\"]\ncuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
             [env]\n{variables}\n[[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
        ));
        step(&image, &hosts(fields)[0], Step::Requirement).0
    };
    let enroot = "launch = \"enroot\"\ntoolkit = \"1.17.8\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
    let said = format!("{GPUS}\nenv = {{ NVIDIA_REQUIRE_CUDA = \"cuda>=12\" }}");
    for (untold, variables, fields, expected) in [
        ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION = \"12.9.1\"", GPUS, "unknown"),
        ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION = \"cu129\"", GPUS, "unknown"),
        ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION = \"12.9.1\"", &said, "passes"),
        ("NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_X = \"cuda>=12.9\"", GPUS, "requirement"),
        ("NVIDIA_REQUIRE_X", "CUDA_VERSION = \"12.9.1\"", GPUS, "requirement"),
        ("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA = \"cuda>=12\"", GPUS, "passes"),
        ("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA = \"\"", GPUS, "unknown"),
        ("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA = \"cuda>=12.9\"", GPUS, "requirement"),
        ("CUDA_VERSION", "", enroot, "passes"),
    ] {
        assert_eq!(found(untold, variables, fields), expected, "{untold} | {variables} | {fields}");
    }
}

#[test]
fn modes_without_a_check() {
    for launch in ["docker-cdi", "podman-cdi", "gke", "native", "singularity"] {
        let fields = format!("launch = \"{launch}\"\ntoolkit = \"1.17.8\"");
        expect(Step::Requirement, &[(&fields, &requires("cuda>=99"), "n/a", "does not check NVIDIA_REQUIRE_*")]);
    }
    let jit = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
    expect(Step::Requirement, &[(jit, &requires("cuda>=99"), "n/a", "mode jit-cdi")]);
    let nothing = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
    expect(Step::Requirement, &[(nothing, &requires("cuda>=99"), "n/a", "without devices")]);
}
