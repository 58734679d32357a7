use super::*;

/// Returns the names of the pages that explain a text.
fn page_names(text: &str) -> Vec<String> {
    let found = explain_text(text, RuleBook::built_in(), Knowledge::built_in());
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
        ("Wheel-Of-Another-Cuda", "torch-cuda-mismatch"),
        (
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver",
            "container-refused",
        ),
        (
            "docker: Error response from daemon: ... nvidia-container-cli: device error: 8: unknown device",
            "container-refused",
        ),
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
        ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "container-refused"),
        (
            "ERROR: This container was built for NVIDIA Driver Release 450.51 or later, but version 440.33.01 was \
             detected and compatibility mode is UNAVAILABLE. [[CUDA Driver UNAVAILABLE (cuInit(0) returned 804)]]",
            "insufficient-driver",
        ),
    ] {
        assert_eq!(page_names(text).first().map(String::as_str), Some(expected), "{text}");
    }
    assert_eq!(page_names("803"), ["driver-mismatch", "compat-unusable"]);
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
        "no-gpu-at-all",
        "version 47.5",
        "gpu 0",
    ] {
        assert!(page_names(text).is_empty(), "{text}: {:?}", page_names(text));
    }
    let near = |text| similar_names(text, RuleBook::built_in(), Knowledge::built_in());
    assert_eq!(near("no-gpus").first().map(String::as_str), Some("no-gpu"));
    assert_eq!(near("cudaErrorStubLibary").first().map(String::as_str), Some("cudaErrorStubLibrary"));
    assert!(near("something else entirely, of some length").is_empty());
}

#[test]
fn every_line_that_a_page_quotes_leads_to_it() {
    let mut all = 0;
    for page in RuleBook::built_in().pages() {
        for line in quoted_lines(&page.sections.wrong) {
            all += 1;
            assert!(page_names(line).contains(&page.name), "{}: `{line}` leads to {:?}", page.name, page_names(line));
        }
    }
    assert!(all > 50, "{all} lines");
    // Start-up pages come first, and a line is no quotation of half of another.
    assert_eq!(page_names("CUDA driver version is insufficient for CUDA runtime version")[0], "insufficient-driver");
    assert_eq!(page_names("nvcc fatal : Unsupported gpu architecture 'compute_120'"), ["arch-list-beyond-compiler"]);
    for text in ["GPU 0", "AssertionError: x", "Cannot load x", "..."] {
        assert!(page_names(text).is_empty(), "{text}: {:?}", page_names(text));
    }
}

#[test]
fn an_error_without_a_page_is_known_all_the_same() {
    let error_codes =
        |text: &str| matching_errors(text, Knowledge::built_in()).iter().map(|row| row.code).collect::<Vec<_>>();
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
        assert_eq!(error_codes(text), expected, "{text}");
    }
    assert!(page_names("802").is_empty());
    assert!(page_names("Error 802: system not yet initialized").is_empty());
}

#[test]
fn a_message_independent_of_the_image_is_still_matched() {
    let message_count = |text: &str| matching_log_messages(text, Knowledge::built_in()).len();
    for text in [
        "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].",
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object",
        "nvidia-container-cli: initialization error: driver error: driver not loaded",
    ] {
        assert_eq!((message_count(text), page_names(text)), (1, Vec::new()), "{text}");
    }
    for text in ["could not select a driver", "libnvidia-ml.so.1", "with capabilities: [[gpu]]"] {
        assert_eq!(message_count(text), 0, "{text}");
    }
}

#[test]
fn the_number_behind_the_words_decides() {
    let none = "failed call to cuInit: UNKNOWN ERROR (303)";
    assert_eq!(page_names(none), ["no-gpu", "library-missing"]);
    assert_eq!(page_names("CUDA error: unknown error (999)"), ["compat-unusable"]);
    assert_eq!(page_names("CUDA error: unknown error"), ["compat-unusable"]);
    assert!(page_names("unknown error (12)").is_empty());
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

#[test]
fn most_likely_error_is_listed_first_with_all_messages() {
    let of = |text: &str| {
        let found = explain_text(text, RuleBook::built_in(), Knowledge::built_in());
        found.first().map(|one| (one.page.name.clone(), one.match_text.clone(), one.by))
    };
    let (page, why, by) = of("kernel image").expect("a page");
    assert_eq!((page.as_str(), by), ("no-kernel-image", MatchKind::Whole));
    assert!(why.starts_with("CUDA error 209 "), "{why}");
    assert_eq!(of("no-kernel-image").map(|one| one.2), Some(MatchKind::Name));
    assert_eq!(of("your system").map(|one| one.2), Some(MatchKind::Part));
}

#[test]
fn launch_methods_of_the_fleet_file_are_known() {
    let word = |text: &str| find_launch_method(text, Knowledge::built_in()).map(|row| row.word);
    for launch in crate::fleet::Launch::WORDS {
        assert_eq!(word(launch), Some(*launch));
    }
    for (text, expected) in
        [("K8s", Some("kubernetes")), ("apptainer", Some("singularity")), ("docker", None), ("", None)]
    {
        assert_eq!(word(text), expected, "{text}");
    }
    for row in Knowledge::built_in().launch_methods() {
        assert!(row.rules.iter().all(|rule| RuleBook::built_in().get(rule).is_some()), "{}", row.word);
    }
}

#[test]
fn misspelled_names_have_one_nearest_page_and_numbers_have_none() {
    let page = |text: &str| misspelled_page(text, RuleBook::built_in()).map(|page| page.name.clone());
    assert_eq!(page("insuficient-driver").as_deref(), Some("insufficient-driver"));
    for text in ["", "t", "304", "no-gp", "something else", "insufficient"] {
        assert_eq!(page(text), None, "{text}");
    }
    let near = |text: &str| similar_names(text, RuleBook::built_in(), Knowledge::built_in());
    for text in ["", "t", "304", "8040"] {
        assert!(near(text).is_empty(), "{text}: {:?}", near(text));
    }
}

/// Returns the name of the first page for the deciding line of a text, or for the whole text.
fn first_page_name(text: &str) -> Option<String> {
    let (book, knowledge) = (RuleBook::built_in(), Knowledge::built_in());
    let line = find_deciding_line(text, book, knowledge).unwrap_or(text);
    explain_text(line, book, knowledge).first().map(|one| one.page.name.clone())
}

#[test]
fn lines_of_real_logs_lead_to_their_pages() {
    for (text, expected) in [
        ("nvidia-container-cli: requirement error: unsatisfied condition: brand = tesla", "container-refused"),
        ("nvidia-container-cli: requirement error: unsatisfied condition: driver < 385", "container-refused"),
        ("requirement error: unsatisfied condition: cuda>=11.2", "container-refused"),
        (
            "requirement error: unsatisfied condition: cuda>=11.1, please update your driver to a newer version",
            "container-refused",
        ),
        ("requirements not met: unsatisfied condition: cuda>=12.2 (cuda=11.4)", "container-refused"),
        ("unsatisfied condition: cuda>=12.4", "container-refused"),
        ("Error 804: forward compatibility was attempted on non supported HW", "compat-not-supported"),
        ("CUDA Error: forward compatibility was attempted on non supported HW", "compat-not-supported"),
        (
            "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver / cuda driver combination",
            "driver-mismatch",
        ),
        (
            "CUDA: Check failed: e == cudaSuccess (803 vs. 0) : system has unsupported display driver / cuda driver combination",
            "driver-mismatch",
        ),
        ("failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "no-gpu"),
        ("CUDA error: no kernel image is available for execution on the device", "no-kernel-image"),
        (
            "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation",
            "no-kernel-image",
        ),
        ("CUDA capability sm_80 is not compatible with the current PyTorch installation", "no-kernel-image"),
        (
            "built for NVIDIA Driver Release 525.85 or later, but version 470.199.02 was detected and compatibility mode is \
             UNAVAILABLE",
            "insufficient-driver",
        ),
        (
            "UNAVAILABLE: Internal: unable to create stream: the provided PTX was compiled with an unsupported toolchain.",
            "unsupported-ptx",
        ),
        (
            "CUDA error 222 at ggml-cuda.cu:5141: the provided PTX was compiled with an unsupported toolchain.",
            "unsupported-ptx",
        ),
        ("The NVIDIA driver on your system is too old (found version 11040).", "insufficient-driver"),
        ("CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version", "insufficient-driver"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "no-gpu"),
        ("libcublasLt.so.11: cannot open shared object file: No such file or directory", "library-missing"),
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", "wrong-platform"),
        (
            "CUDA runtime implicit initialization on GPU:0 failed. Status: device kernel image is invalid",
            "no-kernel-image",
        ),
        (
            "TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0.",
            "no-kernel-image",
        ),
        ("Failed to initialize NVML: Driver/library version mismatch", "driver-mismatch"),
        ("image's platform (linux/amd64) does not match the detected host platform (linux/arm64/v8)", "wrong-platform"),
        ("exec format error", "wrong-platform"),
        ("AssertionError: Torch not compiled with CUDA enabled", "cpu-only"),
        ("(804) forward compatibility was attempted on non supported HW", "compat-not-supported"),
        (
            "nvidia-container-cli: mount error: file creation failed: /x/libnvidia-ml.so.1: file exists: unknown",
            "container-refused",
        ),
    ] {
        assert_eq!(first_page_name(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn parts_prefixes_words_and_links_lead_to_pages() {
    for (text, expected) in [
        ("no kernel image is available", "no-kernel-image"),
        ("\"no kernel image is available\"", "no-kernel-image"),
        ("forward compatibility was attempted", "compat-not-supported"),
        ("found no nvidia driver", "no-gpu"),
        ("unsatisfied condition", "container-refused"),
        ("cannot open shared object file", "library-missing"),
        ("no-ker", "no-kernel-image"),
        ("insufficient", "insufficient-driver"),
        ("cudaErrorNoKernel", "no-kernel-image"),
        ("209", "no-kernel-image"),
        ("error 804", "compat-not-supported"),
        ("minor-version", "unsupported-ptx"),
        ("forward-compat", "compat-not-supported"),
        ("jit", "jit-failed"),
        ("PTX JIT", "jit-failed"),
        ("depends", "depends"),
        ("may fail", "depends"),
        ("unknown", "undetermined"),
        ("no kernel", "no-kernel-image"),
        ("CUDA driver version", "insufficient-driver"),
        ("ptx was compiled", "unsupported-ptx"),
        ("is too old", "insufficient-driver"),
        ("sm_120 is not compatible", "no-kernel-image"),
        ("libcudnn.so", "no-gpu-used"),
        ("undetermined", "undetermined"),
        ("https://example.org/imagelint/rules/no-kernel-image.html", "no-kernel-image"),
        ("https://example.org/blob/main/rules/start-up/no-gpu.md#why", "no-gpu"),
    ] {
        assert_eq!(first_page_name(text).as_deref(), Some(expected), "{text}");
    }
    for text in ["native", "no failure found", "starts", "fails", "docker-gpus", "podman"] {
        assert!(page_names(text).is_empty(), "{text}: {:?}", page_names(text));
    }
    for word in
        ["starts", "not-applicable", "native", "minor-version", "jit", "may fail", "unknown", "No failure found"]
    {
        assert!(find_verdict_term(word, Knowledge::built_in()).is_some(), "{word}");
    }
    // A message that no page is about is longer than the part of it that another page is about.
    let bare = "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared \
                object file: no such file or directory: unknown";
    assert!(page_names(bare).is_empty() && matching_log_messages(bare, Knowledge::built_in()).len() == 1);
}

#[test]
fn the_line_of_a_log_that_decides_is_found() {
    let log = "Step 1/4 : FROM python:3.11\nCollecting torch\nDownloading torch-2.4.0 (797 MB)\n\
               2024-01-01 12:00:00 INFO starting 35 workers\n\
               UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040).\n\
               Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: x\n";
    assert_eq!(first_page_name(log).as_deref(), Some("insufficient-driver"));
    let (book, knowledge) = (RuleBook::built_in(), Knowledge::built_in());
    assert!(find_deciding_line(log, book, knowledge).is_some_and(|line| line.starts_with("UserWarning")));
    // An error takes precedence over a warning before it, even if the warning matches better.
    let warning =
        "could not load dynamic library 'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file";
    let error = "RuntimeError: CUDA error: no kernel image is available for execution on the device";
    for mark in
        ["W0101 12:00:00.1 dso_loader.cc:1] ", "2024-01-01 12:00:00.1: W tensorflow/dso_loader.cc:1] ", "WARNING: "]
    {
        assert_eq!(find_deciding_line(&format!("{mark}{warning}\n{error}\n"), book, knowledge), Some(error), "{mark}");
    }
    let only = format!("W0101 dso_loader.cc:1] {warning}");
    assert_eq!(find_deciding_line(&format!("epoch 1\n{only}\n"), book, knowledge), Some(only.as_str()));
    for text in [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB",
        "CUDA error: device-side assert triggered",
    ] {
        assert_eq!((matching_log_messages(text, knowledge).len(), page_names(text).len()), (1, 0), "{text}");
    }
}

#[test]
fn plain_english_and_other_logs_lead_nowhere() {
    for text in [
        "no such file or directory",
        "No such file or directory: 'requirements.txt'",
        "The quick brown fox jumps over the lazy dog.",
        "an unknown error occurred while the page was loading",
        "make: *** [all] Error 35",
        "npm ERR! code: 100",
        "curl: (35) OpenSSL SSL_connect: Connection reset by peer",
        "Traceback (most recent call last):\n  File \"x.py\", line 209, in <module>\nKeyError: 'starts'",
        "ModuleNotFoundError: No module named 'numpy'",
        "SyntaxError: invalid syntax",
        "MemoryError: out of memory, tried to allocate 804 bytes in total",
        "https://example.org/",
        "https://example.org/no-such-page",
    ] {
        assert_eq!(first_page_name(text), None, "{text}");
        assert!(matching_errors(text, Knowledge::built_in()).is_empty(), "{text}");
    }
}
