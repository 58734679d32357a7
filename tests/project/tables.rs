//! The tables hold together, and questions to them get the right answers.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use imagelint::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};
use imagelint::knowledge::{CompatSelection, FrameworkBuildRow, GpuClass, How, Knowledge, compare_natural, overlay};
use imagelint::text::source::SourceText;

use crate::architecture::sources;

const KNOWLEDGE: Knowledge = Knowledge::built_in();

fn cuda(text: &str) -> CudaVersion {
    text.parse().expect(text)
}

fn targets(text: &str) -> Vec<CodeTarget> {
    text.split_whitespace().map(|number| number.parse().expect(number)).collect()
}

#[test]
fn tables_are_sorted_by_key_and_keys_are_unique() {
    let mut by_table: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for info in KNOWLEDGE.row_infos() {
        by_table.entry(info.table).or_default().push(info.row);
    }
    assert_eq!(by_table.len(), 94);
    for (table, keys) in &by_table {
        for pair in keys.windows(2) {
            assert_eq!(compare_natural(pair[0], pair[1]), Ordering::Less, "{table}: {} before {}", pair[0], pair[1]);
        }
    }
}

/// Lookups that the replay asks often search by halves: their tables are sorted by what they search for.
#[test]
fn tables_are_sorted_by_their_search_key() {
    assert!(KNOWLEDGE.driver_branches().is_sorted_by(|one, next| one.branch < next.branch));
    assert!(KNOWLEDGE.driver_branches().is_sorted_by_key(|row| row.cuda));
    assert!(KNOWLEDGE.toolkits().is_sorted_by(|one, next| one.version < next.version));
    assert!(KNOWLEDGE.target_sets().is_sorted_by(|one, next| one.cuda.release() < next.cuda.release()));
    assert!(KNOWLEDGE.compat_packages().is_sorted_by(|one, next| one.cuda.release() < next.cuda.release()));
    assert!(KNOWLEDGE.minor_compat().is_sorted_by(|one, next| one.cuda_major < next.cuda_major));
    let cell = |row: &imagelint::knowledge::ForwardRow| (row.cuda.release(), row.base_branch);
    assert!(KNOWLEDGE.forward_matrix().is_sorted_by(|one, next| cell(one) < cell(next)));
}

#[test]
fn every_row_has_a_source() {
    for info in KNOWLEDGE.row_infos() {
        assert!(!info.source.trim().is_empty(), "{info:?}");
        assert!(!info.source.contains("memory") || info.how <= How::Documented, "{info:?}");
        assert!(!info.source.starts_with("from memory") || info.how == How::Memory, "{info:?}");
    }
    assert!(KNOWLEDGE.newest_source_date() >= jiff::civil::date(2026, 1, 1));
}

#[test]
fn references_between_tables_resolve() {
    for image in KNOWLEDGE.cuda_images() {
        if let Some(package) = image.compat_package {
            let minor = package.trim_start_matches("cuda-compat-").replace('-', ".");
            assert!(KNOWLEDGE.compat_package(cuda(&minor)).is_some(), "{}: {package}", image.version);
        }
    }
    for recipe in KNOWLEDGE.cuda_recipes() {
        assert!(recipe.require.is_none_or(|id| KNOWLEDGE.requirement(id).is_some()), "{recipe:?}");
        assert!(!KNOWLEDGE.cuda_images_for_version(recipe.version).is_empty(), "{recipe:?}");
        assert!(
            !recipe.arches.is_empty()
                && recipe.first.is_none_or(|first| recipe.until.is_none_or(|until| first < until))
        );
    }
    for package in KNOWLEDGE.compat_packages() {
        assert!(KNOWLEDGE.driver_branch(package.branch).is_some(), "{package:?}");
        assert!(package.versions.iter().all(|version| version.branch() == package.branch), "{package:?}");
        assert!(package.base_branches.iter().all(|branch| KNOWLEDGE.driver_branch(*branch).is_some()), "{package:?}");
    }
    for image in KNOWLEDGE.framework_images() {
        let base = image.base.map(|version| KNOWLEDGE.cuda_image(version).expect(version).version);
        let minor = base.map(|version| cuda(version).release());
        assert!(minor.is_none_or(|minor| minor == image.cuda.release()), "{image:?}");
    }
    let built_on_nothing = KNOWLEDGE
        .framework_images()
        .iter()
        .find(|image| image.repository == "pytorch/pytorch" && image.tag.ends_with("-devel") && image.base.is_none());
    assert!(built_on_nothing.is_none(), "a devel image is built on a CUDA image: {built_on_nothing:?}");
    for floor in KNOWLEDGE.code_floors() {
        assert!(KNOWLEDGE.base_family(floor.repository).is_some_and(|family| family.monthly), "{floor:?}");
        assert!(floor.before.is_none_or(|before| floor.from < before), "{floor:?}");
        assert!(floor.sure.is_none_or(|sure| floor.capability < sure), "{floor:?}");
    }
    for floor in KNOWLEDGE.package_floors() {
        assert!(KNOWLEDGE.framework(floor.distribution).is_some(), "{floor:?}");
    }
    for image in KNOWLEDGE.framework_images() {
        let is_listed = |name: &&str| image.packages.iter().any(|(own, _)| own == name);
        assert!(image.compiled.iter().all(is_listed), "{image:?}");
        assert!(image.compiled.len() == 1 || image.sass.is_empty() && image.ptx.is_empty(), "{image:?}");
    }
    for month in KNOWLEDGE.ngc_releases() {
        let branch = KNOWLEDGE.compat_package(month.cuda).map(|package| package.branch);
        assert!(branch.is_some(), "{month:?}");
        assert!(month.compat.is_none_or(|compat| Some(compat.branch()) == branch), "{month:?}");
    }
    for build in KNOWLEDGE.torch_builds() {
        let release = KNOWLEDGE.torch_release(build.version).expect("a release");
        assert!(release.variants.contains(&build.variant), "{build:?}");
    }
    for gpu in KNOWLEDGE.gpus() {
        assert!(KNOWLEDGE.architecture(gpu.capability).is_some(), "{}", gpu.name);
    }
    for row in KNOWLEDGE.mig_profiles() {
        let gpu = KNOWLEDGE.gpus().iter().find(|gpu| gpu.name == row.gpu).expect(row.gpu);
        assert!(KNOWLEDGE.architecture(gpu.capability).is_some_and(|architecture| architecture.mig), "{row:?}");
        assert!(gpu.class != GpuClass::Vgpu && gpu.class != GpuClass::Consumer, "{row:?}");
        let known = |profile: &&str| KNOWLEDGE.has_mig_profile(gpu.name, profile) == Some(true);
        assert!(!row.profiles.is_empty() && row.profiles.iter().all(known), "{row:?}");
    }
    for instance in KNOWLEDGE.cloud_instances() {
        let gpu = KNOWLEDGE.gpus().iter().find(|gpu| gpu.name == instance.gpu);
        assert!(gpu.is_some(), "{instance:?}");
        assert_eq!(instance.count.is_none(), gpu.is_some_and(|gpu| gpu.class == GpuClass::Vgpu), "{instance:?}");
    }
}

#[test]
fn newer_toolkits_and_branches_have_no_lower_requirement() {
    for pair in KNOWLEDGE.toolkits().windows(2) {
        if let (Some(older), Some(newer)) = (pair[0].min_driver_full, pair[1].min_driver_full) {
            assert!(older <= newer, "{} and {}", pair[0].version, pair[1].version);
        }
    }
    for pair in KNOWLEDGE.driver_branches().windows(2) {
        assert!(pair[0].cuda <= pair[1].cuda, "{} and {}", pair[0].branch, pair[1].branch);
    }
    for pair in KNOWLEDGE.container_toolkits().windows(2) {
        assert_eq!(pair[0].before, Some(pair[1].from));
    }
    for range in KNOWLEDGE.container_toolkits() {
        let found = KNOWLEDGE.container_toolkit(range.sample).expect("a range");
        assert_eq!(found.from, range.from, "{}", range.sample);
    }
}

#[test]
fn releases_follow_each_other() {
    for branch in KNOWLEDGE.driver_branches() {
        assert!(branch.releases.is_sorted_by(|one, next| one < next), "{}: {:?}", branch.branch, branch.releases);
        assert!(branch.releases.iter().all(|release| release.branch() == branch.branch), "{}", branch.branch);
    }
    for package in KNOWLEDGE.compat_packages() {
        assert!(package.versions.is_sorted_by(|one, next| one < next), "{package:?}");
        let days: Vec<_> = package.versions.iter().filter_map(|one| KNOWLEDGE.driver_release_date(*one)).collect();
        assert!(days.is_sorted(), "{package:?}: {days:?}");
    }
    let served: Vec<_> = KNOWLEDGE.served_torch_releases().collect();
    for pair in served.windows(2) {
        assert!(pair[0].released < pair[1].released, "torch {} and {}", pair[0].version, pair[1].version);
    }
}

/// Nothing was released or read after the newest day on which a source was read.
#[test]
fn no_table_date_is_in_the_future() {
    let today = KNOWLEDGE.newest_source_date();
    let days = KNOWLEDGE.torch_releases().iter().filter_map(|row| row.released);
    let days = days.chain(KNOWLEDGE.framework_releases().filter_map(|row| row.released));
    let days = days.chain(KNOWLEDGE.driver_branches().iter().filter_map(|row| row.released));
    let days = days.chain(KNOWLEDGE.toolkits().iter().filter_map(|row| row.released));
    let days = days.chain(KNOWLEDGE.container_toolkits().iter().filter_map(|row| row.released));
    let days = days.chain(KNOWLEDGE.cuda_recipes().iter().flat_map(|row| [row.first, row.until]).flatten());
    let days: Vec<_> = days.collect();
    assert!(days.len() > KNOWLEDGE.torch_releases().len());
    for day in days {
        assert!(day <= today && day >= jiff::civil::date(2012, 1, 1), "{day}");
    }
}

#[test]
fn every_torch_release_has_a_release_date() {
    for release in KNOWLEDGE.served_torch_releases() {
        assert!(release.released.is_some(), "{}", release.version);
    }
}

/// Distributions whose releases are all listed have wheels for a Python version, and their newest release is listed.
#[test]
fn distributions_with_all_releases_have_their_wheels() {
    let complete: Vec<&str> =
        KNOWLEDGE.frameworks().iter().filter(|row| row.all_releases).map(|row| row.distribution).collect();
    assert_eq!(complete.len(), 6);
    for name in complete {
        let mut rows = KNOWLEDGE.complete_wheel_pythons_of(name);
        let newest = KNOWLEDGE.framework_releases_of(name).filter_map(|row| row.version).last().expect(name);
        assert!(rows.clone().count() > 4, "{name}");
        assert!(rows.any(|row| row.last.is_none_or(|last| last.compare(newest).is_ge())), "{name} {newest}");
    }
    assert_eq!(KNOWLEDGE.complete_wheel_pythons_of("xgboost").count(), 0);
    assert!(KNOWLEDGE.torch_pythons().is_sorted_by(|one, next| compare_natural(one.python, next.python).is_lt()));
}

/// Of what the default index gives without being asked for a build, the code is known.
#[test]
fn every_default_cuda_wheel_has_known_gpu_code() {
    let mut seen = 0;
    let since = KNOWLEDGE.torch_release(&"1.4.0".into()).and_then(|row| row.released);
    for release in KNOWLEDGE.torch_releases().iter().filter(|row| row.released >= since) {
        for default in release.default_variant.iter().filter(|default| default.value != "cpu") {
            seen += 1;
            let build = KNOWLEDGE.torch_build(release.version, default.value, default.arch);
            assert!(build.is_some(), "{} {} {}", release.version, default.value, default.arch);
        }
    }
    assert!(seen > 40, "{seen}");
}

/// Names of one table that another one speaks of are there.
#[test]
fn required_packages_and_frameworks_exist_in_the_tables() {
    for row in KNOWLEDGE.gpu_dependencies() {
        let library = KNOWLEDGE.library_packages().iter().any(|library| library.name == row.package);
        let told = |local| KNOWLEDGE.cuda_of_version(row.package, &format!("1+{local}")).is_some();
        let build = row.local.is_some_and(told);
        let companion =
            KNOWLEDGE.is_built_with_torch(row.package) && KNOWLEDGE.torch_requirements_of(row.package).count() > 1;
        let other = KNOWLEDGE.other_processor_of_package(row.package).is_some();
        let known = KNOWLEDGE.framework(row.package).is_some() || library || build || companion || other;
        assert!(known, "{row:?}");
        assert!(row.before.is_none_or(|before| row.from.is_none_or(|from| from.compare(before).is_lt())), "{row:?}");
        let normalized = row.extra.map(|extra| extra.to_lowercase().replace(['_', '.'], "-"));
        assert_eq!(row.extra, normalized.as_deref(), "{row:?}");
    }
    for row in KNOWLEDGE.frameworks() {
        let Some(on) = row.cuda_from else { continue };
        assert!(
            KNOWLEDGE.frameworks().iter().any(|other| other.component == on && other.cuda_from.is_none()),
            "{row:?}"
        );
    }
    assert!(KNOWLEDGE.runtime_package("cuda-keyring").is_none());
    assert!(KNOWLEDGE.runtime_package("nvidia-cuda-toolkit-doc").is_none());
    assert!(KNOWLEDGE.runtime_package("libcuda1").is_none());
    assert!(KNOWLEDGE.conda_variant("pytorch").is_none());
    assert!(!KNOWLEDGE.has_build_index("numpy"));
}

#[test]
fn wheel_gpu_code_applies_only_to_its_exact_version() {
    let code = |distribution: &str, version: &str| {
        let row = KNOWLEDGE.framework_build(distribution, &version.into()).filter(|row| row.code_known)?;
        Some((row.sass.to_vec(), row.ptx.to_vec()))
    };
    for (distribution, version, sass, ptx) in [
        ("vllm", "0.2.6", "70 75 80 86 89 90", ""),
        // One release went out without code for Volta and Turing.
        ("vllm", "0.4.0", "80 86 89 90", ""),
        ("vllm", "0.4.0.post1", "70 75 80 86 89 90", "90"),
        ("vllm", "0.8.5.post1", "70 75 80 86 89 90", ""),
        ("vllm", "0.9.1", "70 75 80 89 90 100", ""),
        ("vllm", "0.9.2", "70 75 80 89 90 100 120", ""),
        ("vllm", "0.33.0", "75 80 86 89 90 100 120", ""),
        ("jax-cuda12-plugin", "0.5.3", "50 60 70 80 90", "90"),
        ("jax-cuda12-plugin", "0.6.0", "50 60 70 80 90 100 120", "120"),
        ("onnxruntime-gpu", "1.28.0", "75 80 86 89 90a 100a 120a", "120"),
        ("onnxruntime-gpu", "1.30.0", "75 80 86 89 90a 120a", ""),
        ("ctranslate2", "4.8.5", "53 60 61 70 75 80 86", "86"),
        ("xgboost", "3.2.0", "50 60 70 80 90 100 120", "120"),
        ("xgboost", "3.3.0", "75 80 90 100 120", "120"),
        ("paddlepaddle-gpu", "2.6.2", "61 70 75 80 86", ""),
        ("xgboost", "3.4.1", "75 80 90 100 120", "120"),
        ("sgl-kernel", "0.3.21", "80 89 90 90a 100a 120a", ""),
    ] {
        assert_eq!(code(distribution, version), Some((targets(sass), targets(ptx))), "{distribution} {version}");
    }
    for (distribution, version) in [
        ("vllm", "0.2.2"),
        ("vllm", "0.34.0"),
        ("paddlepaddle-gpu", "2.6.1"),
        ("jax-cuda12-plugin", "0.4.32"),
        ("onnxruntime-gpu", "1.10.0"),
        ("ctranslate2", "3.20.0"),
        ("xgboost", "3.1.3"),
        ("xgboost", "1.7.6"),
        ("cupy-cuda12x", "13.2.0"),
        ("nvidia-dali-cuda120", "1.40.0"),
        ("xgboost-cpu", "3.4.1"),
    ] {
        assert_eq!(code(distribution, version), None, "{distribution} {version}");
    }
    // PEP 440: both are one version.
    assert!(code("vllm", "0.8").is_some());
    assert_eq!(code("vllm", "0.8"), code("vllm", "0.8.0"));
}

#[test]
fn arm64_wheel_has_separate_gpu_code() {
    let code = |distribution: &str, version: &str| {
        KNOWLEDGE
            .framework_build_for(distribution, &version.into(), "arm64")
            .map(|row| (row.sass.to_vec(), row.ptx.to_vec()))
    };
    for (distribution, version, sass, ptx) in [
        ("vllm", "0.11.0", "87 90 100 120", ""),
        ("vllm", "0.11.2", "87 89 90 100 120", ""),
        ("vllm", "0.33.0", "80 87 89 90 100 110 120", ""),
        ("onnxruntime-gpu", "1.31.1", "89 90a 120a 121a", ""),
        ("xgboost", "3.3.0", "75 80 90 100 120", "120"),
        ("jax-cuda13-plugin", "0.12.0.1", "75 80 90 100 110 120", "120"),
    ] {
        assert_eq!(code(distribution, version), Some((targets(sass), targets(ptx))), "{distribution} {version}");
    }
    for (distribution, version) in [
        // There was no wheel for arm64 yet, or it was not read.
        ("vllm", "0.10.1"),
        ("vllm", "0.34.0"),
        ("onnxruntime-gpu", "1.30.0"),
        ("xgboost", "3.1.2"),
        ("ctranslate2", "4.8.5"),
        ("jax-cuda12-plugin", "0.4.38"),
    ] {
        assert_eq!(code(distribution, version), None, "{distribution} {version}");
    }
    // No release is known for one architecture that is not known at all, and everything but the code is in its row.
    for row in KNOWLEDGE.framework_builds().iter().filter(|row| row.arch.is_some()) {
        let code_only = row.cuda.is_none() && row.released.is_none() && row.torch.is_none() && row.code_known;
        assert!(code_only, "{row:?}");
        let build = row.version.and_then(|version| KNOWLEDGE.framework_build(row.distribution, version));
        assert!(build.is_some_and(|build| build.version == row.version && build.cuda.is_some()), "{row:?}");
    }
}

#[test]
fn old_gpus_have_their_last_driver_branch_and_ambiguous_names_match_none() {
    for (name, capability, last) in [
        ("GTX 480", "2.0", Some(390)),
        ("GeForce GTX 580", "2.0", Some(390)),
        ("GTX 460", "2.1", Some(390)),
        ("Tesla M2090", "2.0", Some(390)),
        ("Quadro 4000", "2.0", Some(390)),
        ("GeForce GT 720M (GF117M)", "2.1", Some(390)),
        ("GeForce GT 720M (GK208M)", "3.5", Some(470)),
        ("GeForce GTX 860M (GK104M)", "3.0", Some(470)),
        ("GeForce GTX 860M (GM107M)", "5.0", Some(580)),
        ("GeForce GT 730 (GF108)", "2.1", Some(390)),
        ("GeForce GT 730 (GK208)", "3.5", Some(470)),
        ("GeForce GT 740", "3.0", Some(470)),
        ("NVIDIA GeForce 910M", "3.5", Some(470)),
        ("Quadro M5000M", "5.2", Some(580)),
        ("Quadro M5000", "5.2", Some(580)),
        ("Quadro M620", "5.0", Some(580)),
        ("GRID K2", "3.0", Some(470)),
        ("Tesla K40", "3.5", Some(470)),
        ("Tesla T10", "7.5", None),
        ("Tesla-V100-DGXS-32GB", "7.0", Some(580)),
        ("Tesla V100", "7.0", Some(580)),
        ("NVIDIA L40", "8.9", None),
        ("NVIDIA Tegra X1", "5.3", None),
        ("GTX 745", "5.0", Some(580)),
        ("GTX 1050 Mobile", "6.1", Some(580)),
        ("GTX 1050 with Max-Q Design", "6.1", Some(580)),
        ("P104-100", "6.1", Some(580)),
        ("NVIDIA TITAN X", "6.1", Some(580)),
        ("TITAN Xp", "6.1", Some(580)),
        ("GTX TITAN X", "5.2", Some(580)),
        ("CMP 170HX", "8.0", None),
        ("B100", "10.0", None),
        ("DGX Spark", "12.1", None),
        // Neighbours that mean what they meant.
        ("Quadro RTX 4000", "7.5", None),
        ("P100", "6.0", Some(580)),
        ("GeForce GTX 1050", "6.1", Some(580)),
        ("RTX A4000", "8.6", None),
    ] {
        let row = KNOWLEDGE.gpu(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!((row.capability.to_string().as_str(), row.last_branch), (capability, last), "{name}");
    }
    for name in [
        "GTX 860M",
        "NVIDIA GeForce GTX 860M",
        "GT 720M",
        "GT 730",
        "GeForce-GT-640",
        "GT 740M",
        "K1000",
        "TITAN X",
        "GTX 48",
        "P105-100",
        "CMP 170",
    ] {
        assert!(KNOWLEDGE.gpu(name).is_none(), "{name}: {:?}", KNOWLEDGE.gpu(name));
    }
    assert_eq!(KNOWLEDGE.gpu_suggestions("GTX 860M"), ["GeForce GTX 860M (GK104M)", "GeForce GTX 860M (GM107M)"]);
}

#[test]
fn a_row_for_a_minor_release_applies_only_to_its_patch_releases() {
    let of =
        |version: &str| KNOWLEDGE.framework_build("tensorflow", &version.into()).map(FrameworkBuildRow::version_text);
    assert_eq!(of("2.3.0"), Some("2.3.0"));
    assert_eq!(of("2.3.0rc0"), Some("2.3"));
    assert_eq!(of("2.3"), Some("2.3.0"));
    assert_eq!(of("2.30.0"), None);
    assert_eq!(of("2"), None);
    assert_eq!(of(""), None);
    assert_eq!(of("2."), None);
    assert_eq!(of("9.9.9"), None);
}

/// No table is dead weight: a question reads each.
#[test]
fn every_table_is_read_by_a_lookup() {
    let methods = include_str!("../../src/knowledge/lookup.rs").lines().filter_map(|line| {
        let (method, row) = line.trim().strip_suffix(';')?.split_once(": ")?;
        row.contains("Row = ").then_some(method)
    });
    let code: String =
        sources().into_iter().filter(|(path, _)| !path.ends_with("tests.rs")).map(|(_, text)| text).collect();
    let unread: Vec<&str> = methods.filter(|method| !code.contains(&format!(".{method}()"))).collect();
    assert_eq!(unread, Vec::<&str>::new());
}

/// What a board calls itself has changed with the driver.
#[test]
fn gpu_brands_match_the_driver() {
    for name in ["A100-PCIE-40GB", "A100-SXM4-80GB", "Tesla T4"] {
        let brands = KNOWLEDGE.gpu(name).expect(name).brands;
        let brand = |branch: u32| {
            let holds = |from: Option<u32>, up_to: Option<u32>| {
                from.is_none_or(|from| from <= branch) && up_to.is_none_or(|up_to| branch <= up_to)
            };
            brands.iter().find(|brand| holds(brand.from_branch, brand.up_to_branch)).map(|brand| brand.brand)
        };
        let found = [450, 460, 465, 470, 535].map(brand);
        assert_eq!(found, [Some("tesla"), Some("tesla"), None, Some("nvidia"), Some("nvidia")], "{name}");
    }
}

#[test]
fn library_wheels_have_their_cuda_version() {
    for (distribution, version, cuda) in [
        ("nvidia-cuda-runtime-cu12", "12.4.127", Some("12.4")),
        ("nvidia-cuda-runtime", "13.2.75", Some("13.2")),
        ("nvidia-cudnn-cu12", "9.1.0.70", Some("12")),
        ("nvidia-cuda-runtime-cu12", "latest", None),
        ("nvidia-ml-py", "13.615.71", None),
    ] {
        let found = KNOWLEDGE.library_wheel_cuda(distribution, version).map(|(cuda, _)| cuda.to_string());
        assert_eq!(found.as_deref(), cuda, "{distribution} {version}");
    }
    // What both tables say of a wheel is the same.
    for row in KNOWLEDGE.library_wheels() {
        let mut packages = KNOWLEDGE.library_packages().iter().filter(|package| package.name == row.distribution);
        let of_row = |soname: &&str| soname.strip_prefix(row.library).is_some_and(|rest| rest.starts_with(".so."));
        assert!(packages.all(|package| package.sonames.iter().any(of_row)), "{row:?}");
    }
    let variants =
        |version: &str| KNOWLEDGE.bundled_variants_of("bitsandbytes", &version.into()).map(|row| row.from.as_str());
    assert_eq!(variants("0.45.1"), Some("0.45.0"));
    assert_eq!(variants("0.1"), None);
    let triton = KNOWLEDGE.triton_compilers().iter().find(|row| row.version.as_str() == "3.1.0");
    assert_eq!(triton.map(|row| row.ptxas), Some(cuda("12.4.99")));
}

#[test]
fn gpus_are_found_by_common_spellings() {
    for (name, capability, class) in [
        ("A100", (8, 0), GpuClass::DataCenter),
        ("a100-40gb", (8, 0), GpuClass::DataCenter),
        ("NVIDIA A100-PCIE-40GB", (8, 0), GpuClass::DataCenter),
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", (8, 0), GpuClass::DataCenter),
        ("NVIDIA-A100-SXM4-40GB-SHARED", (8, 0), GpuClass::DataCenter),
        ("H100", (9, 0), GpuClass::DataCenter),
        ("T4", (7, 5), GpuClass::DataCenter),
        ("Tesla-T4", (7, 5), GpuClass::DataCenter),
        ("V100", (7, 0), GpuClass::DataCenter),
        ("P100", (6, 0), GpuClass::DataCenter),
        ("K80", (3, 7), GpuClass::DataCenter),
        ("L4", (8, 9), GpuClass::DataCenter),
        ("A10G", (8, 6), GpuClass::DataCenter),
        ("B200", (10, 0), GpuClass::DataCenter),
        ("GH200", (9, 0), GpuClass::DataCenter),
        ("RTX 4090", (8, 9), GpuClass::Consumer),
        ("rtx4090", (8, 9), GpuClass::Consumer),
        ("RTX 2080 Ti", (7, 5), GpuClass::Consumer),
        ("GeForce RTX 2080 Ti", (7, 5), GpuClass::Consumer),
        ("RTX A6000", (8, 6), GpuClass::Workstation),
        ("NVIDIA 5060 Ti 16GB", (12, 0), GpuClass::Consumer),
        ("RTX 4090 24GB", (8, 9), GpuClass::Consumer),
        ("GRID A100D-4C", (8, 0), GpuClass::Vgpu),
        ("GRID A100-10C", (8, 0), GpuClass::Vgpu),
        ("GRID-A100-10C", (8, 0), GpuClass::Vgpu),
        ("A100-10C", (8, 0), GpuClass::Vgpu),
        ("T4-4C", (7, 5), GpuClass::Vgpu),
        ("NVIDIA H100-20C", (9, 0), GpuClass::Vgpu),
        ("NVIDIA L4-6Q", (8, 9), GpuClass::Vgpu),
        ("DGX Spark", (12, 1), GpuClass::Other),
        ("Jetson AGX Thor", (11, 0), GpuClass::Jetson),
        ("Jetson Thor", (11, 0), GpuClass::Jetson),
        ("A100X", (8, 0), GpuClass::DataCenter),
        ("A30X", (8, 0), GpuClass::DataCenter),
        ("Tesla K20", (3, 5), GpuClass::DataCenter),
        ("K20X", (3, 5), GpuClass::DataCenter),
        ("RTX PRO 6000 Blackwell Server Edition", (12, 0), GpuClass::DataCenter),
        ("RTX 5050 Laptop GPU", (12, 0), GpuClass::Consumer),
        ("RTX 500 Ada", (8, 9), GpuClass::Other),
        ("MX250", (6, 1), GpuClass::Consumer),
        ("GTX 1060", (6, 1), GpuClass::Consumer),
        ("Quadro P520", (6, 1), GpuClass::Other),
        ("p5.48xlarge", (9, 0), GpuClass::DataCenter),
        ("Standard_NC24ads_A100_v4", (8, 0), GpuClass::DataCenter),
        ("G6F.LARGE", (8, 9), GpuClass::Vgpu),
        ("H100 SXM", (9, 0), GpuClass::DataCenter),
        ("h100-sxm5", (9, 0), GpuClass::DataCenter),
        ("H100 SXM5 80GB", (9, 0), GpuClass::DataCenter),
        ("H200 SXM", (9, 0), GpuClass::DataCenter),
        ("B200 SXM", (10, 0), GpuClass::DataCenter),
        ("RTX6000 Ada", (8, 9), GpuClass::Workstation),
        ("AGX Orin", (8, 7), GpuClass::Jetson),
        ("Orin NX", (8, 7), GpuClass::Jetson),
    ] {
        let gpu = KNOWLEDGE.gpu(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!((gpu.capability, gpu.class), (ComputeCapability::new(capability.0, capability.1), class), "{name}");
    }
}

#[test]
fn every_name_and_alias_of_the_table_is_found() {
    for gpu in KNOWLEDGE.gpus() {
        for spelling in std::iter::once(&gpu.name).chain(gpu.aliases) {
            let meant = KNOWLEDGE.gpus().iter().filter(|other| other.aliases.contains(spelling));
            if meant.map(|other| other.capability).any(|capability| capability != gpu.capability) {
                assert!(*spelling != gpu.name && KNOWLEDGE.gpu(spelling).is_none(), "{spelling}");
                continue;
            }
            let found = KNOWLEDGE.gpu(spelling).unwrap_or_else(|| panic!("{spelling}"));
            assert_eq!(found.capability, gpu.capability, "{spelling}");
        }
    }
}

#[test]
fn near_misses_are_not_found_but_suggested() {
    for name in [
        "A1000000",
        "RTX 2080 Tie",
        "80GB",
        "4C",
        "GRID B100-4C",
        "B100-4C",
        "A100-10Z",
        "GRID",
        "GRID 10C",
        "RTX 9999 16GB",
        "16GB 24GB",
        "RTX 6000",
        "RTX6000",
        "RTX PRO 6000",
        "H100 SXM9",
        "B100 SXM",
        "AGX",
        "NX",
        "SXM5",
        "p5.49xlarge",
        "g5",
        "",
        "NVIDIA",
        "MIG",
        "gpu",
    ] {
        assert!(KNOWLEDGE.gpu(name).is_none(), "{name}: {:?}", KNOWLEDGE.gpu(name));
    }
    assert_eq!(KNOWLEDGE.gpu_suggestions("RTX 2080 Tie")[0], "GeForce RTX 2080 Ti");
    let meant = KNOWLEDGE.gpu_suggestions("RTX PRO 6000");
    assert!(meant.len() > 1 && meant.iter().all(|name| name.starts_with("NVIDIA RTX PRO 6000 Blackwell")), "{meant:?}");
    assert!(KNOWLEDGE.gpu_suggestions("RTX 4091").len() <= 3);
    assert_eq!(KNOWLEDGE.gpu_suggestions("H100 SXM9")[0], "H100 80GB HBM3");
    for (name, meant) in [("A10O", "A100"), ("H1OO", "H100")] {
        assert_eq!(KNOWLEDGE.gpu_suggestions(name), [meant], "{name}");
    }
    assert_eq!(KNOWLEDGE.gpu_suggestions("p4d.24xlrge"), ["p4d.24xlarge", "p4de.24xlarge"]);
    assert!(KNOWLEDGE.gpu_suggestions("somebody's toaster oven").is_empty());
}

#[test]
fn driver_branches_support_their_gpus() {
    for (branch, (major, minor), expected) in [
        (460, (8, 0), Some(true)),
        (440, (8, 0), Some(false)),
        (590, (7, 0), Some(false)),
        (580, (7, 0), Some(true)),
        (550, (10, 0), Some(false)),
        (570, (12, 0), Some(true)),
        (470, (3, 5), Some(true)),
        (510, (3, 5), Some(false)),
        (515, (8, 9), Some(false)),
        (535, (9, 0), Some(true)),
        (9999, (9, 0), None),
        (535, (4, 2), None),
        (1, (7, 5), None),
    ] {
        let found = KNOWLEDGE.branch_supports(branch, ComputeCapability::new(major, minor));
        assert_eq!(found.map(|(knows, _)| knows), expected, "{branch} x {major}.{minor}");
    }
}

#[test]
fn torch_builds_have_their_known_gpu_code() {
    for (version, variant, sass) in [
        ("1.8.1", "cu111", "50 70 80 86"),
        ("1.12.1", "cu102", "37 50 60 70"),
        ("1.12.1", "cu113", "37 50 60 70 75 80 86"),
        ("1.13.1", "cu117", "37 50 60 70 75 80 86"),
        ("2.6.0", "cu124", "50 60 70 75 80 86 90"),
    ] {
        let build = KNOWLEDGE.torch_build(&version.into(), variant, "amd64").expect(version);
        assert_eq!((build.sass, build.ptx), (targets(sass).as_slice(), [].as_slice()), "{version} {variant}");
    }
    let default = KNOWLEDGE.torch_release(&"1.12.1".into()).expect("a release").default_variant;
    assert!(default.iter().any(|by_arch| (by_arch.arch, by_arch.value) == ("amd64", "cu102")));
}

#[test]
fn table_lookups_fall_back_as_documented() {
    let toolkit = |text| KNOWLEDGE.toolkit(cuda(text)).map(|row| row.version.to_string());
    assert_eq!(toolkit("12.4"), Some("12.4.1".to_owned()));
    assert_eq!(toolkit("12.4.0"), Some("12.4.0".to_owned()));
    assert_eq!(toolkit("12.8.0.038"), Some("12.8.0".to_owned()));
    assert_eq!(toolkit("99.0"), None);
    assert_eq!(KNOWLEDGE.oldest_toolkit(12, 4).map(|row| row.version), Some(cuda("12.4.0")));
    let driver: DriverVersion = "535.161.08".parse().expect("a driver");
    assert_eq!(KNOWLEDGE.driver_cuda(driver).map(|(version, _)| version), Some(cuda("12.2")));
    assert_eq!(KNOWLEDGE.compat_package_of_libcuda(driver).map(|row| row.cuda), Some(cuda("12.2")));
    assert!(KNOWLEDGE.framework_build("cupy-cuda12x", &"13.1.0".into()).is_some());
    assert!(KNOWLEDGE.framework_build("tensorflow", &"99.0".into()).is_none());
    let toolkit = |text| KNOWLEDGE.container_toolkit(cuda(text)).map(|row| row.legacy_hook);
    assert_eq!(toolkit("1.3.0"), Some(CompatSelection::Mount));
    assert_eq!(toolkit("1.17.3"), Some(CompatSelection::Mount));
    assert_eq!(toolkit("1.20.9"), Some(CompatSelection::Ldconfig));
    assert_eq!(toolkit("1.99.0"), None, "newer than the tables");
}

/// The build script and the reader of a user's own tables give the same rows.
#[test]
fn the_built_in_files_read_the_same_at_run_time() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/knowledge");
    let tables: Vec<&str> = KNOWLEDGE.table_summaries().iter().map(|table| table.name).collect();
    let read = |name: &&str| {
        let text = fs::read_to_string(folder.join(format!("{name}.toml"))).expect(name);
        SourceText::new(format!("{name}.toml"), text)
    };
    let files: Vec<SourceText> = tables.iter().map(read).collect();
    let own = overlay::with_files(KNOWLEDGE, &files).expect("the built-in files");
    for name in tables {
        let rows = |knowledge: Knowledge| knowledge.query("table", name).expect(name).rows;
        let (one, other) = (rows(own), rows(KNOWLEDGE));
        assert!(!one.is_empty() && one.len() == other.len(), "{name}");
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one.fields, other.fields, "{name}");
            assert_eq!(format!("{:?}", one.info), format!("{:?}", other.info), "{name}");
        }
    }
}

/// Only a row of several releases has bounds, and at most one column says the version of the package.
#[test]
fn only_requirements_of_several_releases_have_bounds() {
    for row in KNOWLEDGE.requires_dist() {
        let bounded = row.from.is_some() || row.before.is_some();
        assert!(row.version.is_none() || !bounded, "{row:?}");
        assert!(row.version.is_none() || row.on_python.is_empty() && row.older.is_empty(), "{row:?}");
        let version_rules = [!row.range.is_any(), row.same, row.local.is_some()];
        assert!(version_rules.into_iter().filter(|set| *set).count() <= 1, "{row:?}");
    }
}

#[test]
fn companion_packages_are_known_of_listed_distributions_only() {
    for (distribution, companion, expected) in [
        ("effdet", "torchvision", Some(true)),
        ("effdet", "torchaudio", Some(false)),
        ("accelerate", "torchvision", Some(false)),
        ("vllm", "torchvision", Some(true)),
        ("whisperx", "torchvision", None),
    ] {
        assert_eq!(KNOWLEDGE.requires_companion(distribution, companion, |_| true), expected, "{distribution}");
    }
    assert_eq!(KNOWLEDGE.requires_companion("vllm", "torchvision", |_| false), None);
}
