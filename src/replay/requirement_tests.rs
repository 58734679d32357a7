//! Requirements, by mode, version, brand and what is known of the host.

use crate::replay::StartStep;
use crate::replay::step_tests::{expect_step_results, image_from_description, pool_hosts, step_result_and_text};

/// Pool fields for containers started with `docker run --gpus`.
const GPUS_FLAG_POOL: &str = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";
/// Pool fields of a Jetson AGX Orin, which selects the csv mode.
const ORIN_POOL: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\ngpu = \"Jetson AGX Orin\"\n\
    platform = \"linux/arm64\"\ndriver = \"540.4.0\"\ndriver_cuda = \"12.6\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";

/// Returns the description line that sets `NVIDIA_REQUIRE_CUDA`.
fn require_cuda_line(value: &str) -> String {
    format!("NVIDIA_REQUIRE_CUDA = \"{value}\"")
}

#[test]
fn every_variable_is_checked_and_the_message_has_the_first_term() {
    let hint = "unsatisfied condition: cuda>=12.9, please update your driver to a newer version";
    expect_step_results(
        StartStep::Requirement,
        &[
            (GPUS_FLAG_POOL, "", "passes", ""),
            (GPUS_FLAG_POOL, &require_cuda_line("cuda>=12.4"), "passes", ""),
            (GPUS_FLAG_POOL, &require_cuda_line("cuda>=12.9"), "requirement", hint),
            (GPUS_FLAG_POOL, &require_cuda_line("cuda>=12.9 driver>=535,driver<536"), "requirement", hint),
            (GPUS_FLAG_POOL, &require_cuda_line("cuda>=12.9 driver>=550,driver<551"), "passes", ""),
            (GPUS_FLAG_POOL, "NVIDIA_REQUIRE_ARCH = \"arch>=9.0\"", "requirement", "unsatisfied condition: arch>=9.0"),
            (
                GPUS_FLAG_POOL,
                &format!("{}\nNVIDIA_REQUIRE_X = \"driver<550\"", require_cuda_line("cuda>=12")),
                "requirement",
                "driver<550",
            ),
            (GPUS_FLAG_POOL, "CUDA_VERSION = \"12.9.1\"", "requirement", hint),
            (GPUS_FLAG_POOL, "NVIDIA_REQUIRE_JETPACK = \"csv-mounts=all\"", "passes", ""),
            (GPUS_FLAG_POOL, "nvidia_require_cuda = \"cuda>=99\"", "passes", ""),
        ],
    );
}

#[test]
fn older_checks_have_other_messages() {
    let of = |toolkit: &str| {
        format!("launch = \"docker-gpus\"\ntoolkit = \"{toolkit}\"\ngpu = \"Tesla P100\"\ndriver = \"390.77\"")
    };
    let tail = |text: &str| format!("nvidia-container-cli: requirement error: unsatisfied condition: {text}");
    let many = require_cuda_line("cuda>=10.0 brand=tesla,driver>=384,driver<385");
    for (toolkit, value, expected) in [
        ("1.0.0", &many, "driver < 385"),
        ("1.0.3", &many, "driver < 385"),
        ("1.0.3", &require_cuda_line("cuda>=10.0 brand=geforce,driver>=384,driver<385"), "brand = geforce"),
        ("1.0.3", &require_cuda_line("cuda>=10.0"), "cuda >= 10.0"),
        ("1.0.3", &require_cuda_line("driver!390.77"), "driver != 390.77"),
        ("1.0.4", &many, "cuda>=10.0"),
        ("1.0.5", &many, "cuda>=10.0"),
        ("1.0.6", &many, "cuda>=10.0, please update your driver to a newer version, or use an earlier cuda container"),
        ("1.0.6", &require_cuda_line("driver>=400"), "driver>=400"),
        ("1.17.8", &many, "cuda>=10.0, please update your driver to a newer version, or use an earlier cuda container"),
    ] {
        let (_, message) = step_result_and_text(
            &image_from_description(&format!("[env]\n{value}\n")),
            &pool_hosts(&of(toolkit))[0],
            StartStep::Requirement,
        );
        assert!(message.ends_with(&tail(expected)), "{toolkit} {value}: {message}");
    }
}

#[test]
fn malformed_requirements_are_reported() {
    let many: Vec<String> = (0..33).map(|at| format!("NVIDIA_REQUIRE_X{at} = \"cuda>=9.0\"")).collect();
    let many = many.join("\n");
    expect_step_results(
        StartStep::Requirement,
        &[
            (
                GPUS_FLAG_POOL,
                &require_cuda_line("cuda>=10_0"),
                "malformed-requirement",
                "requirement error: invalid expression",
            ),
            (GPUS_FLAG_POOL, &require_cuda_line("foo=1"), "malformed-requirement", "invalid expression"),
            (GPUS_FLAG_POOL, &require_cuda_line("cuda>=12.4 foo=1"), "passes", ""),
            (
                GPUS_FLAG_POOL,
                "CUDA_VERSION = \"cu121\"",
                "malformed-requirement",
                "failed to get requirements failed to get version: invalid CUDA version cu121: invalid version string",
            ),
            (
                GPUS_FLAG_POOL,
                &many,
                "malformed-requirement",
                "nvidia-container-cli: input error: too many requirements",
            ),
        ],
    );
}

#[test]
fn each_disabling_setting_applies_only_where_it_is_read() {
    let option = format!("{GPUS_FLAG_POOL}\n[pool.host]\ndisable-require = true");
    let csv_option = format!("{ORIN_POOL}\n[pool.host]\ndisable-require = true");
    let at_run_time = format!("{GPUS_FLAG_POOL}\nenv = {{ NVIDIA_DISABLE_REQUIRE = \"true\" }}");
    let over_it = format!("{GPUS_FLAG_POOL}\nenv = {{ NVIDIA_REQUIRE_CUDA = \"cuda>=12\" }}");
    let enroot = "launch = \"enroot\"\ntoolkit = \"1.17.8\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
    let too_new = require_cuda_line("cuda>=12.9");
    let with = |line: &str| format!("{too_new}\n{line}");
    expect_step_results(
        StartStep::Requirement,
        &[
            (&option, &too_new, "n/a", "disable-require"),
            (&csv_option, &too_new, "requirement", ""),
            (&at_run_time, &too_new, "n/a", "NVIDIA_DISABLE_REQUIRE"),
            (&over_it, &too_new, "passes", ""),
            (GPUS_FLAG_POOL, &with("NVIDIA_DISABLE_REQUIRE = \"1\""), "n/a", ""),
            (GPUS_FLAG_POOL, &with("NVIDIA_DISABLE_REQUIRE = \"yes\""), "requirement", ""),
            (GPUS_FLAG_POOL, &with("NVIDIA_DISABLE_REQUIRE = \"\""), "requirement", ""),
            (enroot, &with("NVIDIA_DISABLE_REQUIRE = \"yes\""), "n/a", ""),
            (enroot, &too_new, "requirement", "cuda>=12.9"),
            (enroot, "CUDA_VERSION = \"12.9.1\"", "passes", ""),
        ],
    );
}

#[test]
fn csv_mode_sees_only_cuda_and_arch() {
    expect_step_results(
        StartStep::Requirement,
        &[
            (ORIN_POOL, &require_cuda_line("cuda>=12.6"), "passes", ""),
            (
                ORIN_POOL,
                &require_cuda_line("cuda>=12.9"),
                "requirement",
                "requirements not met: unsatisfied condition: cuda>=12.9 (cuda=12.6)",
            ),
            (ORIN_POOL, &require_cuda_line("driver>=450"), "requirement", "requirements not met"),
            (ORIN_POOL, &require_cuda_line("brand=nvidia"), "requirement", ""),
            (ORIN_POOL, &require_cuda_line("CUDA>=99"), "passes", ""),
            (
                ORIN_POOL,
                &require_cuda_line("cuda>=12.9 driver>=450.80.02"),
                "malformed-requirement",
                "requirements not met",
            ),
            // The code after the newest release reads leading zeros, and finds no driver version to compare.
            (&ORIN_POOL.replace("1.17.8", "1.20.1"), &require_cuda_line("cuda>=12.6 driver>=450.80.02"), "passes", ""),
            (ORIN_POOL, &require_cuda_line("cuda>=12.6 driver>=450.80.02"), "malformed-requirement", ""),
            (ORIN_POOL, "CUDA_VERSION = \"cu121\"", "malformed-requirement", "failed to get image requirements"),
        ],
    );
}

#[test]
fn older_checks_report_newer_brands_as_unknown() {
    let new = "launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\nbrand = \"nvidiartx\"";
    let old = "launch = \"docker-gpus\"\ntoolkit = \"1.8.1\"\nbrand = \"nvidiartx\"";
    let plain = "launch = \"docker-gpus\"\ntoolkit = \"1.8.1\"\nbrand = \"tesla\"";
    let library =
        "launch = \"docker-gpus\"\ntoolkit = \"1.5.1\"\nlibnvidia_container = \"1.8.0\"\nbrand = \"nvidiartx\"";
    expect_step_results(
        StartStep::Requirement,
        &[
            (new, &require_cuda_line("brand=nvidiartx"), "passes", ""),
            (new, &require_cuda_line("brand=unknown"), "requirement", ""),
            (old, &require_cuda_line("brand=nvidiartx"), "requirement", "brand=nvidiartx"),
            (old, &require_cuda_line("brand=unknown"), "passes", ""),
            (library, &require_cuda_line("brand=nvidiartx"), "requirement", ""),
            (plain, &require_cuda_line("brand=tesla"), "passes", ""),
            (plain, &require_cuda_line("brand=unknown"), "requirement", ""),
        ],
    );
}

#[test]
fn unknown_brand_matters_only_if_brands_differ() {
    let own = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\ngpu = \"Own\"\ncompute_capability = \"9.0\"";
    expect_step_results(
        StartStep::Requirement,
        &[
            (own, &require_cuda_line("cuda>=12.9 brand=tesla"), "unknown", "brand"),
            (own, &require_cuda_line("cuda>=12.4 brand=tesla"), "passes", ""),
            // Whatever the brand, one of two holds; no brand is both of two.
            (own, &require_cuda_line("brand=tesla brand!=tesla"), "passes", ""),
            (own, &require_cuda_line("brand=tesla,brand=geforce"), "requirement", "brand=tesla,brand=geforce"),
            (own, &require_cuda_line("brand=nobody"), "requirement", "brand=nobody"),
            (own, &require_cuda_line("brand>tesla"), "malformed-requirement", ""),
            (own, &require_cuda_line("cuda>=12.9"), "requirement", ""),
        ],
    );
}

#[test]
fn requirement_of_unknown_value_does_not_refuse() {
    let found = |unknown_variable: &str, variables: &str, fields: &str| {
        let image = image_from_description(&format!(
            "env_unknown = [\"{unknown_variable}\"]\ncuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
             [env]\n{variables}\n[[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
        ));
        step_result_and_text(&image, &pool_hosts(fields)[0], StartStep::Requirement).0
    };
    let enroot = "launch = \"enroot\"\ntoolkit = \"1.17.8\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
    let pool_with_env = format!("{GPUS_FLAG_POOL}\nenv = {{ NVIDIA_REQUIRE_CUDA = \"cuda>=12\" }}");
    for (unknown_variable, variables, fields, expected) in [
        ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION = \"12.9.1\"", GPUS_FLAG_POOL, "unknown"),
        ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION = \"cu129\"", GPUS_FLAG_POOL, "unknown"),
        ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION = \"12.9.1\"", &pool_with_env, "passes"),
        ("NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_X = \"cuda>=12.9\"", GPUS_FLAG_POOL, "requirement"),
        ("NVIDIA_REQUIRE_X", "CUDA_VERSION = \"12.9.1\"", GPUS_FLAG_POOL, "requirement"),
        ("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA = \"cuda>=12\"", GPUS_FLAG_POOL, "passes"),
        ("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA = \"\"", GPUS_FLAG_POOL, "unknown"),
        ("CUDA_VERSION", "NVIDIA_REQUIRE_CUDA = \"cuda>=12.9\"", GPUS_FLAG_POOL, "requirement"),
        ("CUDA_VERSION", "", enroot, "passes"),
    ] {
        assert_eq!(found(unknown_variable, variables, fields), expected, "{unknown_variable} | {variables} | {fields}");
    }
}

#[test]
fn other_modes_do_not_check_requirements() {
    for launch in ["docker-cdi", "podman-cdi", "gke", "native", "singularity"] {
        let fields = format!("launch = \"{launch}\"\ntoolkit = \"1.17.8\"");
        expect_step_results(
            StartStep::Requirement,
            &[(&fields, &require_cuda_line("cuda>=99"), "n/a", "does not check NVIDIA_REQUIRE_*")],
        );
    }
    let jit = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
    expect_step_results(StartStep::Requirement, &[(jit, &require_cuda_line("cuda>=99"), "n/a", "mode jit-cdi")]);
    let nothing = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
    expect_step_results(StartStep::Requirement, &[(nothing, &require_cuda_line("cuda>=99"), "n/a", "without devices")]);
}
