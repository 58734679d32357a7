//! A framework of one build a version: its version, CUDA runtime and GPU code.

use std::cmp::Ordering;

use jiff::civil::Date;

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::fact::CodeWording;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::GpuCode;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Signature;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::unknown;
use crate::infer::unread::may_be_kept;
use crate::install::admits;
use crate::install::order;
use crate::knowledge::BEYOND;
use crate::knowledge::FrameworkBuildRow;
use crate::knowledge::FrameworkImageRow;
use crate::knowledge::FrameworkRow;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;

/// The architecture whose wheels have rows of their own.
const ARM64: &str = "arm64";

/// What the build of a framework is told from, beside its package.
#[derive(Clone, Copy)]
pub(super) struct Image<'a> {
    pub(super) seen: &'a Observations,
    pub(super) build: &'a BaseBuild,
    pub(super) arch: &'a str,
    pub(super) as_of: Option<Date>,
    pub(super) knowledge: Knowledge,
}

/// A framework of one build a version that a command installs.
pub(super) fn installed(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    image: Image<'_>,
) -> Component {
    let name = framework.component;
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
    let local = matches!(&package.version, PackageVersion::Exact(text) if text.contains('+'));
    let built = built(package, image.seen).or_else(|| chosen(package, image.knowledge));
    let built = built.or_else(|| of_conda_for_cpu(package, image.seen));
    // What a base image ships need not be what the default index has.
    let of_index = package.manager == Manager::Pip && image.build.fact != Some(package.fact);
    // A build without CUDA that is there is the only one, unless somebody chose it.
    let only = built.is_none_or(|built| variant_cuda(built).is_none() && package.offered == Offered::Default);
    if framework.cpu_on.contains(&image.arch) && !local && of_index && only {
        return without_cuda(facts, framework, package, &framework.info);
    }
    let text = match (&package.conditional, &package.version) {
        (Some(why), _) => return component_unknown(facts, framework, package, why, None),
        (None, PackageVersion::Unresolved(why)) => return any_version(facts, framework, package, why, image),
        (None, PackageVersion::Exact(text)) => text,
        (None, PackageVersion::Open(range)) => {
            let tag = of_conda_for_cpu(package, image.seen);
            let range = if range.is_empty() { "no version" } else { range };
            let of_day = || Why {
                reason: format!("{} is installed with {range}: the build date decides its version", package.name),
                supply: format!("pin it, such as {}==<version>", package.name),
            };
            let why = may_be_kept(image.seen, package).unwrap_or_else(of_day);
            if tag.is_some() {
                return component_unknown(facts, framework, package, &why, tag);
            }
            return any_version(facts, framework, package, &why, image);
        }
    };
    if let (Offered::Unknown(why), Depth::Text, None) = (&package.offered, image.seen.depth, built) {
        return component_unknown(facts, framework, package, why, None);
    }
    let version = text.split('+').next().unwrap_or(text);
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version), read);
    if let Some(row) = image.build.compiled(package) {
        return compiled(facts, framework, (version, version_id), row, image);
    }
    if package.manager == Manager::Conda && image.seen.depth == Depth::Layers && built.is_none() {
        let why = Why {
            reason: format!(
                "the build string of conda does not include the CUDA version of {} {version}",
                package.name
            ),
            supply: "describe its CUDA runtime and GPU code in an image description".to_owned(),
        };
        return component_unknown(facts, framework, package, &why, None);
    }
    match built {
        Some(variant) => as_built(facts, framework, package, version_id, (version, variant), image),
        None => from_build_row(facts, framework, package, text, version_id, image),
    }
}

/// A framework that was compiled for the image that brings it: for its CUDA, and for the GPUs that its recipe names.
fn compiled(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    (version, version_id): (&str, FactId),
    row: &'static FrameworkImageRow,
    image: Image<'_>,
) -> Component {
    let name = framework.component;
    let evidence = || Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: Some(&row.info) };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), State::Known(row.cuda), evidence());
    let container = Signature { sass: row.sass.to_vec(), ptx: row.ptx.to_vec() };
    let listed = image.arch != ARM64 && !(container.sass.is_empty() && container.ptx.is_empty());
    let code = if listed {
        State::Known(GpuCode::from(container))
    } else {
        State::Unknown(Why {
            reason: format!(
                "{name} {version} was compiled for `{}:{}`, and its GPU targets are not in the compatibility \
                    database",
                row.repository, row.tag
            ),
            supply: "run `imagelint scan` on the image, or list its [[gpu_code]] in an image description".to_owned(),
        })
    };
    let code = facts.add_typed(FactKey::ComponentCode, Some(name), code, evidence());
    Component::core(name, cuda, code, wording(framework))
}

/// The build of a package that lies in the image, as the package itself tells it.
fn built<'a>(package: &'a PackageSeen, seen: &Observations) -> Option<&'a str> {
    package.variant.as_deref().filter(|_| seen.depth == Depth::Layers || seen.complete.packages)
}

/// The CPU build of conda that a command selects by its build string.
fn of_conda_for_cpu<'a>(package: &'a PackageSeen, seen: &Observations) -> Option<&'a str> {
    let of_command = package.manager == Manager::Conda && seen.depth == Depth::Text;
    package.variant.as_deref().filter(|variant| of_command && variant_cuda(variant).is_none())
}

/// The build that the own index of a distribution has, where the default one has no such release.
fn chosen(package: &PackageSeen, knowledge: Knowledge) -> Option<&str> {
    let PackageVersion::Exact(version) = &package.version else { return None };
    let own = !knowledge.own_indexes(&package.name).is_empty();
    let alone = match &package.offered {
        Offered::Only(_) => true,
        Offered::Beside(tags) => tags.len() == 1 && knowledge.framework_build(&package.name, version).is_none(),
        Offered::Default | Offered::Unknown(_) => false,
    };
    package.variant.as_deref().filter(|_| own && alone)
}

/// A framework whose own files say what it was built with; its GPU code is that of the row where they agree.
fn as_built(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    version_id: FactId,
    (version, variant): (&str, &str),
    image: Image<'_>,
) -> Component {
    let (name, knowledge) = (framework.component, image.knowledge);
    let read = || Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
    let variant_id = facts.add(FactKey::ComponentVariant, Some(name), known_text(variant), read());
    let codes = wording(framework);
    let Some(cuda) = variant_cuda(variant) else {
        let searched = "the build variant, which does not use CUDA";
        let from = if of_conda_for_cpu(package, image.seen).is_some() { variant_id } else { package.fact };
        let of_cuda = Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
        let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), State::Absent { searched }, of_cuda);
        let code = facts.add_typed(FactKey::ComponentCode, Some(name), State::Absent { searched }, read());
        return Component::core(name, cuda, code, codes);
    };
    let row = knowledge.framework_build(&package.name, version);
    // What is known of a wheel says nothing of a build of conda.
    let row = row.filter(|_| package.manager != Manager::Conda);
    let row = row.filter(|row| row.cuda.is_some_and(|own| own.release() == cuda.release()));
    let code = match row.and_then(|row| code_of(row, version, image)) {
        Some((container, row)) => {
            let evidence = Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: Some(row) };
            let code = State::Known(GpuCode::from(container));
            facts.add_typed(FactKey::ComponentCode, Some(name), code, evidence)
        }
        None => no_code_row(facts, name, &format!("{version}+{variant}"), version_id),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), State::Known(cuda), read());
    Component::core(name, cuda, code, codes)
}

/// A distribution that has no CUDA build for the platform, whatever its version.
pub(super) fn without_cuda(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    row: &'static RowInfo,
) -> Component {
    let name = framework.component;
    let searched = "the builds for this platform, which do not use CUDA";
    let evidence = |from| Evidence::Derived { by: Derivation::Row, from: vec![from], row: Some(row) };
    let variant = facts.add(FactKey::ComponentVariant, Some(name), known_text("cpu"), evidence(package.fact));
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), State::Absent { searched }, evidence(variant));
    let code = facts.add_typed(FactKey::ComponentCode, Some(name), State::Absent { searched }, evidence(variant));
    Component::core(name, cuda, code, wording(framework))
}

/// A framework whose version cannot be told: its CUDA can be where it is that of every version.
fn any_version(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    why: &Why,
    image: Image<'_>,
) -> Component {
    let knowledge = image.knowledge;
    if let Some(why) = image.as_of.and_then(|day| not_out(package, day, knowledge)) {
        return component_unknown(facts, framework, package, &why, None);
    }
    let mut component = component_unknown(facts, framework, package, why, None);
    // What may be there already is of any release and any build.
    let kept = may_be_kept(image.seen, package).is_some();
    let own = image.build.fact != Some(package.fact) && !kept;
    // An older release of what has the extra may be there, which does not have it.
    let here = |name: &str| image.seen.packages.iter().any(|one| one.name == name && one.command == package.command);
    let rows = knowledge.brought_packages().iter();
    let absent = kept && rows.filter(|row| row.brings == package.name).any(|row| here(row.distribution));
    if let Some(row) = of_all(package, knowledge).filter(|_| own) {
        let evidence = |row| Evidence::Derived { by: Derivation::Row, from: vec![package.fact], row: Some(row) };
        let cuda = row.cuda.map_or(State::Unknown(why.clone()), State::Known);
        component.cuda = facts.add_typed(FactKey::ComponentCuda, Some(&component.name), cuda, evidence(&row.info));
        if let Some((container, row)) = code_of(row, row.version, image) {
            let code = State::Known(GpuCode::from(container));
            component.code = facts.add_typed(FactKey::ComponentCode, Some(&component.name), code, evidence(row));
        }
    } else if package.manager != Manager::Conda
        && let Some(row) = knowledge.framework_build(&package.name, "*").filter(|_| !absent)
        && let Some(cuda) = row.cuda
    {
        let evidence = Evidence::Derived { by: Derivation::Row, from: vec![package.fact], row: Some(&row.info) };
        component.cuda = facts.add_typed(FactKey::ComponentCuda, Some(&component.name), State::Known(cuda), evidence);
    }
    component
}

/// The newest release in a range that ends, where all in it have the same CUDA and code: whichever it is, it has those.
fn of_all(package: &PackageSeen, knowledge: Knowledge) -> Option<&'static FrameworkBuildRow> {
    let PackageVersion::Open(range) = &package.version else { return None };
    let ends = admits(range, BEYOND) == Some(false) && !range.contains('+');
    let rows = knowledge.framework_builds().iter().filter(|row| row.distribution == package.name && row.version != "*");
    let within: Vec<_> = rows.filter(|row| admits(range, row.version) == Some(true)).collect();
    let first = within.first().filter(|row| ends && row.cuda.is_some() && row.code_known)?;
    let same = |row: &&FrameworkBuildRow| {
        (row.cuda, row.code_known, row.sass, row.ptx) == (first.cuda, first.code_known, first.sass, first.ptx)
    };
    let newest =
        within.iter().copied().max_by(|one, other| order(one.version, other.version).unwrap_or(Ordering::Equal));
    newest.filter(|_| package.manager == Manager::Pip && within.iter().copied().all(|row| same(&row)))
}

/// Why a package of which some release is asked for cannot be told on a day on which none of those was out.
fn not_out(package: &PackageSeen, day: Date, knowledge: Knowledge) -> Option<Why> {
    let PackageVersion::Open(range) = &package.version else { return None };
    let rows = knowledge.framework_builds().iter().filter(|row| row.distribution == package.name);
    let asked = |version: &str| range.is_empty() || admits(range, version) == Some(true);
    let mut days = rows.filter(|row| asked(row.version)).filter_map(|row| row.released).peekable();
    days.peek()?;
    days.all(|released| released > day).then(|| Why {
        reason: format!("no suitable release of {} was available on {day}", package.name),
        supply: "pin the version of the package that requires it".to_owned(),
    })
}

/// A package that runs on another component's CUDA takes it from there; a build that is certainly for another major needs
/// the runtime of that, and whether the image has it is not known.
pub(super) fn riding(facts: &mut Facts, component: &mut Component, on: &Component, is_own_build: bool) {
    match (&component.cuda.state, &on.cuda.state) {
        (State::Known(_), State::Unknown(_)) => return,
        (State::Known(own), State::Known(there)) if is_own_build && own.major() != there.major() => {
            let reason = format!(
                "{} is built for CUDA {own}, and {} is installed for CUDA {there}: it is unknown whether a CUDA \
                    {} runtime is available",
                component.name,
                on.name,
                own.major()
            );
            let supply =
                format!("install {} for CUDA {}, or run `imagelint scan` on the built image", on.name, own.major());
            let from = vec![component.cuda.id, on.cuda.id];
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
            let name = component.name.clone();
            let why = Why { reason, supply };
            component.cuda = unknown(facts, FactKey::ComponentCuda, Some(&name), why, evidence);
            return;
        }
        _ => {}
    }
    let mut of = |cuda: &Fact<CudaVersion>| {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![cuda.id], row: None };
        facts.add_typed(FactKey::ComponentCuda, Some(&component.name), cuda.state.clone(), evidence)
    };
    // The last fact of a key is the one that holds.
    let of_release = on.may_be.iter().map(|one| {
        let (cuda, release) = (of(&one.cuda), one.release.clone());
        Component { cuda, release, may_be: Vec::new(), ..component.clone() }
    });
    let may_be: Vec<Component> = of_release.collect();
    let cuda = of(&on.cuda);
    *component = Component { cuda, may_be, ..component.clone() };
}

/// A component of which neither version nor build can be told; its CUDA may still be, by the index chosen.
pub(super) fn component_unknown(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    why: &Why,
    tag: Option<&str>,
) -> Component {
    let name = framework.component;
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
    facts.add(FactKey::ComponentVersion, Some(name), State::Unknown(why.clone()), read.clone());
    let code = unknown(facts, FactKey::ComponentCode, Some(name), why.clone(), read.clone());
    let cuda = match tag.map(variant_cuda) {
        Some(Some(cuda)) => State::Known(cuda),
        Some(None) => State::Absent { searched: "the build variant, which does not use CUDA" },
        None => State::Unknown(why.clone()),
    };
    // Of a build without CUDA it matters whether a command chose it.
    let variant = tag.filter(|_| matches!(cuda, State::Absent { .. }));
    let variant = variant.map(|tag| facts.add(FactKey::ComponentVariant, Some(name), known_text(tag), read.clone()));
    let of_variant = |from| Evidence::Derived { by: Derivation::Resolution, from: vec![from], row: None };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), cuda, variant.map_or(read, of_variant));
    Component::core(name, cuda, code, wording(framework))
}

/// A framework whose distribution has one build a version.
fn from_build_row(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    text: &str,
    version_id: FactId,
    image: Image<'_>,
) -> Component {
    let (name, knowledge) = (framework.component, image.knowledge);
    let (version, local) = text.split_once('+').unwrap_or((text, ""));
    // A wheel that says its own CUDA is of the release, for that CUDA.
    let own = variant_cuda(local.split('.').next().unwrap_or(local));
    // What holds for every version need not hold for one that came later, unless the name itself says it.
    let newer = knowledge.newer_framework(&package.name, version) && knowledge.named_cuda(&package.name).is_none();
    let row = knowledge.framework_build(&package.name, version).filter(|row| !newer || row.version != "*");
    // The tables list builds of wheels; a build of conda may be for another CUDA, or for none.
    let of_conda = package.manager == Manager::Conda;
    let row = row.filter(|_| !of_conda);
    // Where an image brings a framework of its own, or its runtime is said, the name of a CPU build tells nothing.
    let read = image.seen.depth == Depth::Layers;
    let plain = matches!(image.build.family, Family::Plain | Family::Cuda) && image.seen.cuda_runtime.is_none();
    let plain = plain || read;
    let row = row.filter(|row| row.cuda.is_some() || plain);
    let named = knowledge.cuda_of_version(&package.name, version).filter(|_| row.is_none());
    let told_by = row.map(|row| &row.info).or(named.map(|(_, row)| row));
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: told_by };
    let told = row.and_then(|row| code_of(row, version, image));
    let told =
        told.map(|(code, row)| (own.map_or_else(|| code.clone(), |own| compiled_by(&code, own, knowledge)), row));
    let reason = match row {
        Some(row) if row.cuda.is_some() && row.code_known => {
            format!(
                "the GPU code of {} {version} for {} is not in the compatibility database",
                package.name, image.arch
            )
        }
        Some(row) if row.cuda.is_some() => format!(
            "the GPU code of {} {version} is not in the compatibility \
            database",
            package.name
        ),
        _ if of_conda => format!("the conda build of {} {version} is not in the compatibility database", package.name),
        _ => knowledge.lacks_version(&package.name, version),
    };
    let supply = "describe its CUDA runtime and GPU code in an image description".to_owned();
    let why = Why { reason, supply };
    let (cuda, code) = match (row, image.seen.cuda_runtime.filter(|_| !read)) {
        (None, Some((cuda, _))) => (State::Known(cuda), State::Unknown(why)),
        (None, None) => match named {
            Some((cuda, _)) => (State::Known(cuda), State::Unknown(why)),
            None => (State::Unknown(why.clone()), State::Unknown(why)),
        },
        (Some(row), _) => {
            let cuda = own.or(row.cuda);
            let cuda = cuda.map_or(State::Absent { searched: "the build, which does not use CUDA" }, State::Known);
            let code = told.clone().map(|(container, _)| State::Known(GpuCode::from(container)));
            (cuda, code.unwrap_or(State::Unknown(why)))
        }
    };
    let said = image.seen.cuda_runtime.filter(|_| row.is_none() && !read);
    let of_cuda = match said {
        Some((_, fact)) => Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None },
        None => evidence.clone(),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), cuda, of_cuda);
    let of_code = match told {
        Some((_, row)) => Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: Some(row) },
        None => evidence,
    };
    let code = facts.add_typed(FactKey::ComponentCode, Some(name), code, of_code);
    Component::core(name, cuda, code, wording(framework))
}

/// What the compilers of a CUDA release make of that code.
fn compiled_by(code: &Signature, cuda: CudaVersion, knowledge: Knowledge) -> Signature {
    let Some(row) = knowledge.target_set(cuda) else { return code.clone() };
    let made = |list: &[CodeTarget]| list.iter().filter(|target| row.targets.contains(target)).copied().collect();
    Signature { sass: made(&code.sass), ptx: made(&code.ptx) }
}

/// The GPU code of the wheel that the image's architecture gets, and the row that tells it: what was read off the wheel
/// for amd64 says nothing of the one for arm64.
fn code_of(row: &'static FrameworkBuildRow, version: &str, image: Image<'_>) -> Option<(Signature, &'static RowInfo)> {
    if image.arch == ARM64 && row.cuda.is_some() {
        let own = image.knowledge.arm64_build(row.distribution, version)?;
        return Some((Signature { sass: own.sass.to_vec(), ptx: own.ptx.to_vec() }, &own.info));
    }
    row.code_known.then(|| (Signature { sass: row.sass.to_vec(), ptx: row.ptx.to_vec() }, &row.info))
}

pub(super) fn no_code_row(facts: &mut Facts, name: &str, build: &str, from: FactId) -> Fact<GpuCode> {
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![from], row: None };
    let why = Why {
        reason: format!("the GPU code of {name} {build} is not in the compatibility database"),
        supply: "list it under [[gpu_code]] in an image description".to_owned(),
    };
    unknown(facts, FactKey::ComponentCode, Some(name), why, evidence)
}

pub(super) fn known_text(text: &str) -> State<Value> {
    State::Known(Value::Text(text.to_owned()))
}

/// How a framework words missing code and unusable PTX.
pub(super) fn wording(framework: &FrameworkRow) -> CodeWording {
    CodeWording { no_code: framework.no_code, bad_ptx: framework.bad_ptx }
}

/// CUDA of a variant: 12.4 for `cu124`; none for `cpu`, `rocm6.2`, `xpu`.
pub(crate) fn variant_cuda(variant: &str) -> Option<CudaVersion> {
    let digits = variant.strip_prefix("cu").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
    format!("{major}.{minor}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_names_its_cuda_by_the_last_digit() {
        for (variant, cuda) in [
            ("cu92", Some("9.2")),
            ("cu102", Some("10.2")),
            ("cu118", Some("11.8")),
            ("cu130", Some("13.0")),
            ("cpu", None),
            ("rocm6.2", None),
            ("cu", None),
            ("cu1", None),
            ("cxx11", None),
        ] {
            assert_eq!(variant_cuda(variant).map(|cuda| cuda.to_string()).as_deref(), cuda, "{variant}");
        }
    }
}
