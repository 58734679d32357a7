//! The built-in pages, embedded: one line per file under `rules/`, sorted; a test compares the list with the folder.

/// Path and text of every page.
pub(super) const PAGES: &[(&str, &str)] = &[
    ("rules/practice/comment-without-effect.md", include_str!("../../rules/practice/comment-without-effect.md")),
    ("rules/practice/cpu-wheel-on-gpu-base.md", include_str!("../../rules/practice/cpu-wheel-on-gpu-base.md")),
    ("rules/practice/dockerfile-syntax.md", include_str!("../../rules/practice/dockerfile-syntax.md")),
    ("rules/practice/dockerfile-template.md", include_str!("../../rules/practice/dockerfile-template.md")),
    ("rules/practice/driver-library-in-image.md", include_str!("../../rules/practice/driver-library-in-image.md")),
    ("rules/practice/floating-base-tag.md", include_str!("../../rules/practice/floating-base-tag.md")),
    ("rules/practice/torch-unpinned.md", include_str!("../../rules/practice/torch-unpinned.md")),
    ("rules/practice/unused-ignore.md", include_str!("../../rules/practice/unused-ignore.md")),
    ("rules/practice/wheel-of-another-cuda.md", include_str!("../../rules/practice/wheel-of-another-cuda.md")),
    ("rules/practice/withdrawn-base-tag.md", include_str!("../../rules/practice/withdrawn-base-tag.md")),
    ("rules/start-up/compat-not-supported.md", include_str!("../../rules/start-up/compat-not-supported.md")),
    ("rules/start-up/compat-unusable.md", include_str!("../../rules/start-up/compat-unusable.md")),
    ("rules/start-up/cpu-only.md", include_str!("../../rules/start-up/cpu-only.md")),
    ("rules/start-up/driver-mismatch.md", include_str!("../../rules/start-up/driver-mismatch.md")),
    ("rules/start-up/gpu-unsupported.md", include_str!("../../rules/start-up/gpu-unsupported.md")),
    ("rules/start-up/insufficient-driver.md", include_str!("../../rules/start-up/insufficient-driver.md")),
    ("rules/start-up/jit-failed.md", include_str!("../../rules/start-up/jit-failed.md")),
    ("rules/start-up/library-missing.md", include_str!("../../rules/start-up/library-missing.md")),
    ("rules/start-up/no-gpu.md", include_str!("../../rules/start-up/no-gpu.md")),
    ("rules/start-up/no-kernel-image.md", include_str!("../../rules/start-up/no-kernel-image.md")),
    ("rules/start-up/refused.md", include_str!("../../rules/start-up/refused.md")),
    ("rules/start-up/stub-library.md", include_str!("../../rules/start-up/stub-library.md")),
    ("rules/start-up/unsupported-ptx.md", include_str!("../../rules/start-up/unsupported-ptx.md")),
    ("rules/start-up/wrong-platform.md", include_str!("../../rules/start-up/wrong-platform.md")),
];
