use super::*;

fn pages(text: &str) -> Vec<String> {
    let found = explain(text, RuleBook::built_in(), Knowledge::built_in());
    found.into_iter().map(|one| one.page.name.clone()).collect()
}

#[test]
fn codes_names_and_lines_lead_to_their_pages() {
    for (text, expected) in [
        ("804", "compat-not-supported"),
        ("48", "no-kernel-image"),
        ("cudaErrorNoKernelImageForDevice", "no-kernel-image"),
        ("CUDA_ERROR_STUB_LIBRARY", "stub-library"),
        ("cuda_error_unsupported_ptx_version", "unsupported-ptx"),
        ("no-gpu", "no-gpu"),
        ("Wheel-Of-Another-Cuda", "wheel-of-another-cuda"),
        (
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver",
            "refused",
        ),
        ("docker: Error response from daemon: ... nvidia-container-cli: device error: 8: unknown device", "refused"),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "no-kernel-image"),
        (
            "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 803: system has \
          unsupported display driver / cuda driver combination",
            "driver-mismatch",
        ),
        ("cuInit failed with error code 34", "stub-library"),
        ("RuntimeError: Found no NVIDIA driver on your system. Please check", "no-gpu"),
        (
            "./app: error while loading shared libraries: libcudart.so.12: cannot open shared object file",
            "library-missing",
        ),
        ("exec /opt/app/app: exec format error", "wrong-platform"),
        ("OSError: libcublas.so.11: cannot open shared object file: No such file or directory", "library-missing"),
        (
            "FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: cannot open \
             shared object file: No such file or directory",
            "library-missing",
        ),
        ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "refused"),
        (
            "ERROR: This container was built for NVIDIA Driver Release 450.51 or later, but version 440.33.01 was \
             detected and compatibility mode is UNAVAILABLE. [[CUDA Driver UNAVAILABLE (cuInit(0) returned 804)]]",
            "insufficient-driver",
        ),
    ] {
        assert_eq!(pages(text).first().map(String::as_str), Some(expected), "{text}");
    }
    assert_eq!(pages("803"), ["driver-mismatch", "compat-unusable"]);
}

#[test]
fn other_texts_lead_nowhere() {
    for text in [
        "",
        "8040",
        "cuda",
        "error",
        "it took 35 seconds",
        "version 804.1",
        "xcudaErrorUnknownx",
        "error 3512",
        "ModuleNotFoundError: No module named 'torch'",
        "unsatisfied condition",
        "no-gpu-at-all",
    ] {
        assert!(pages(text).is_empty(), "{text}: {:?}", pages(text));
    }
    let near = |text| near(text, RuleBook::built_in(), Knowledge::built_in());
    assert_eq!(near("no-gpus").first().map(String::as_str), Some("no-gpu"));
    assert_eq!(near("cudaErrorStubLibary").first().map(String::as_str), Some("cudaErrorStubLibrary"));
    assert!(near("something else entirely, of some length").is_empty());
}

#[test]
fn every_line_that_a_page_quotes_leads_to_it() {
    let mut all = 0;
    for page in RuleBook::built_in().pages() {
        for line in quoted(&page.sections.wrong) {
            all += 1;
            assert!(pages(line).contains(&page.name), "{}: `{line}` leads to {:?}", page.name, pages(line));
        }
    }
    assert!(all > 50, "{all} lines");
    // Start-up pages come first, and a line is no quotation of half of another.
    assert_eq!(pages("CUDA driver version is insufficient for CUDA runtime version")[0], "insufficient-driver");
    assert_eq!(pages("nvcc fatal : Unsupported gpu architecture 'compute_120'"), ["arch-list-beyond-compiler"]);
    for text in ["GPU 0", "Unsupported gpu architecture", "AssertionError: x", "Cannot load x", "..."] {
        assert!(pages(text).is_empty(), "{text}: {:?}", pages(text));
    }
}

#[test]
fn an_error_without_a_page_is_known_all_the_same() {
    let told = |text: &str| errors(text, Knowledge::built_in()).iter().map(|row| row.code).collect::<Vec<_>>();
    for (text, expected) in [
        ("802", &[802][..]),
        (" cudaErrorSystemNotReady", &[802]),
        ("46", &[46]),
        ("RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", &[802]),
        ("system not yet initialized", &[802]),
        ("8020", &[]),
        ("it took 802 seconds", &[]),
        ("the system is not yet initialized", &[]),
        ("", &[]),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
    assert!(pages("802").is_empty());
    assert!(pages("Error 802: system not yet initialized").is_empty());
}

#[test]
fn a_line_that_nothing_in_an_image_decides_is_told_all_the_same() {
    let told = |text: &str| lines(text, Knowledge::built_in()).len();
    for text in [
        "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object",
        "nvidia-container-cli: initialization error: driver error: driver not loaded",
    ] {
        assert_eq!((told(text), pages(text)), (1, Vec::new()), "{text}");
    }
    for text in ["could not select a driver", "libnvidia-ml.so.1", "driver not loaded", "with capabilities: [[gpu]]"] {
        assert_eq!(told(text), 0, "{text}");
    }
}

#[test]
fn the_number_behind_the_words_decides() {
    let none = "failed call to cuInit: UNKNOWN ERROR (303)";
    assert_eq!(pages(none), ["no-gpu", "library-missing"]);
    assert_eq!(pages("CUDA error: unknown error (999)"), ["compat-unusable"]);
    assert_eq!(pages("CUDA error: unknown error"), ["compat-unusable"]);
    assert!(pages("unknown error (12)").is_empty());
}

#[test]
fn every_page_that_the_tables_name_is_there() {
    let knowledge = Knowledge::built_in();
    let named = knowledge
        .errors()
        .iter()
        .flat_map(|row| row.rules)
        .chain(knowledge.messages().iter().flat_map(|row| row.rules));
    for rule in named {
        assert!(RuleBook::built_in().get(rule).is_some(), "{rule}");
    }
    for row in knowledge.messages() {
        assert!(row.rules.is_empty() == row.means.is_some(), "{:?}: pages, or what it means", row.says);
    }
}
