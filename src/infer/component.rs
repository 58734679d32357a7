//! The components of an image: what can start or fail on its own, with its CUDA runtime and GPU code.

use std::collections::BTreeMap;

use crate::cuda::CudaVersion;
use crate::fact::CodeSeen;
use crate::fact::CodeWording;
use crate::fact::Component;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::GpuCode;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Role;
use crate::fact::Signature;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::unknown;
use crate::knowledge::FrameworkRow;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;

/// The name of the component that stands for the image's own CUDA runtime.
pub(super) const OWN_RUNTIME: &str = "cuda";
/// How the CUDA runtime itself words missing code and unusable PTX.
pub(super) const PLAIN_WORDING: CodeWording = CodeWording { no_code: 209, bad_ptx: 222 };

/// All components, core ones first.
pub(super) fn components(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    base_cuda: &Fact<CudaVersion>,
    arch: &str,
    knowledge: Knowledge,
) -> Vec<Component> {
    let mut code: BTreeMap<&str, Vec<&CodeSeen>> = BTreeMap::new();
    for entry in &seen.code {
        code.entry(entry.component.as_deref().unwrap_or(OWN_RUNTIME)).or_default().push(entry);
    }
    let mut found: BTreeMap<&'static str, Component> = BTreeMap::new();
    if let Some((version, row)) = build.torch
        && let Some(framework) = knowledge.framework("torch")
    {
        let from: Vec<FactId> = build.fact.into_iter().collect();
        let component = shipped(facts, framework, version, row, build, &from, arch, knowledge);
        found.insert(framework.component, component);
    }
    for package in &seen.packages {
        if let Some(framework) = knowledge.framework(&package.name) {
            let component = installed(facts, framework, package, arch, knowledge);
            // A later install replaces an earlier one, and what the base brought.
            found.insert(framework.component, component);
        }
    }
    let mut list: Vec<Component> = found.into_values().collect();
    for component in &mut list {
        if let Some(entries) = code.remove(component.name.as_str()) {
            component.code = read_code(facts, &component.name, &entries);
        }
    }
    let own_code = code.remove(OWN_RUNTIME);
    for (name, entries) in code {
        let code = read_code(facts, name, &entries);
        let cuda = own_runtime(facts, seen, build, base_cuda, name);
        list.push(Component { name: name.to_owned(), role: Role::Core, cuda, code, codes: PLAIN_WORDING });
    }
    let runtime = own_runtime(facts, seen, build, base_cuda, OWN_RUNTIME);
    let present = own_code.is_some() || !matches!(runtime.state, State::Absent { .. });
    if present {
        let role = if list.is_empty() || own_code.is_some() { Role::Core } else { Role::Extension };
        let code = match own_code {
            Some(entries) => read_code(facts, OWN_RUNTIME, &entries),
            None => unseen_code(facts, OWN_RUNTIME, seen, vec![runtime.id]),
        };
        list.push(Component { name: OWN_RUNTIME.to_owned(), role, cuda: runtime, code, codes: PLAIN_WORDING });
    }
    list.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
    list
}

/// The runtime of code that is not one of the packages: as said, else the base's.
fn own_runtime(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    base_cuda: &Fact<CudaVersion>,
    name: &str,
) -> Fact<CudaVersion> {
    if let Some((version, fact)) = seen.cuda_runtime {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None };
        return facts.add_typed(FactKey::ComponentCuda, Some(name), State::Known(version), evidence);
    }
    let evidence = Evidence::Derived { by: Derivation::Inheritance, from: vec![base_cuda.id], row: None };
    let state = match &base_cuda.state {
        State::Known(version) => State::Known(*version),
        State::Absent { searched } => State::Absent { searched },
        State::Unknown(_) => State::Unknown(build.unseen("the CUDA runtime of the image")),
    };
    facts.add_typed(FactKey::ComponentCuda, Some(name), state, evidence)
}

fn read_code(facts: &mut Facts, name: &str, entries: &[&CodeSeen]) -> Fact<GpuCode> {
    let signature = |entry: &CodeSeen| Signature { sass: entry.sass.clone(), ptx: entry.ptx.clone() };
    let code = GpuCode::of_files(entries.iter().map(|entry| (entry.file.as_str(), signature(entry))));
    let from = entries.iter().map(|entry| entry.fact).collect();
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    facts.add_typed(FactKey::ComponentCode, Some(name), State::Known(code), evidence)
}

fn unseen_code(facts: &mut Facts, name: &str, seen: &Observations, from: Vec<FactId>) -> Fact<GpuCode> {
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    if seen.complete.code {
        let searched = "every library of the image";
        return facts.add_typed(FactKey::ComponentCode, Some(name), State::Absent { searched }, evidence);
    }
    let why = Why {
        reason: format!("nothing was seen of the GPU code of {name}"),
        supply: "list it under [[gpu_code]] in an image description".to_owned(),
    };
    unknown(facts, FactKey::ComponentCode, Some(name), why, evidence)
}

/// A framework that the base image ships.
#[expect(clippy::too_many_arguments, reason = "one call site; the arguments are what the tables are asked with")]
fn shipped(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    version: &'static str,
    row: &'static RowInfo,
    build: &BaseBuild,
    from: &[FactId],
    arch: &str,
    knowledge: Knowledge,
) -> Component {
    let name = framework.component;
    let evidence = |row| Evidence::Derived { by: Derivation::Row, from: from.to_vec(), row: Some(row) };
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version), evidence(row));
    let (state, cuda_row) = match build.cuda {
        Some((cuda, row)) => (State::Known(cuda), row),
        None => (State::Unknown(build.unseen("its CUDA runtime")), row),
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), state, evidence(cuda_row));
    let code = match build.cuda {
        Some((cuda, _)) => torch_code(facts, name, version, &variant_of(cuda), arch, version_id, knowledge),
        None => no_code_row(facts, name, version, version_id),
    };
    Component { name: name.to_owned(), role: Role::Core, cuda, code, codes: wording(framework) }
}

/// A framework that a command installs.
fn installed(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    arch: &str,
    knowledge: Knowledge,
) -> Component {
    let name = framework.component;
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
    let component =
        |cuda, code| Component { name: name.to_owned(), role: Role::Core, cuda, code, codes: wording(framework) };
    let text = match &package.version {
        PackageVersion::Exact(text) => text.clone(),
        PackageVersion::Open(range) => {
            let range = if range.is_empty() { "no version" } else { range };
            let why = Why {
                reason: format!("{} is installed with {range}: the build depends on the day", package.name),
                supply: format!("pin it, such as {}==<version>", package.name),
            };
            return component_unknown(facts, framework, package, &why, &component);
        }
        PackageVersion::Unresolved(why) => return component_unknown(facts, framework, package, why, &component),
    };
    let (version, local) =
        text.split_once('+').map_or((text.as_str(), None), |(version, local)| (version, Some(local)));
    let version_id = facts.add(FactKey::ComponentVersion, Some(name), known_text(version), read.clone());
    if !framework.variants {
        return from_build_row(facts, framework, package, version, version_id, knowledge);
    }
    let chosen = local.map(str::to_owned).or_else(|| package.variant.clone());
    let (variant, row) = match chosen {
        Some(variant) => (Some(variant), None),
        None => knowledge.torch(version).map_or((None, None), |row| {
            let default = row.default_variant.iter().find(|value| value.arch == arch);
            (default.map(|value| value.value.to_owned()), Some(&row.info))
        }),
    };
    let Some(variant) = variant else {
        let why = Why {
            reason: format!("{} {version} is not in the tables of {}", package.name, knowledge.newest_date()),
            supply: "name its build, such as +cu124, or describe its GPU code in an image description".to_owned(),
        };
        return component_unknown(facts, framework, package, &why, &component);
    };
    let from_version = Evidence::Derived { by: Derivation::Row, from: vec![version_id], row };
    let variant_id = facts.add(FactKey::ComponentVariant, Some(name), known_text(&variant), from_version);
    let from_variant = Evidence::Derived { by: Derivation::Resolution, from: vec![variant_id], row: None };
    let Some(cuda) = variant_cuda(&variant) else {
        let searched = "the build variant, which is none of CUDA";
        let cuda =
            facts.add_typed(FactKey::ComponentCuda, Some(name), State::Absent { searched }, from_variant.clone());
        let code = facts.add_typed(FactKey::ComponentCode, Some(name), State::Absent { searched }, from_variant);
        return component(cuda, code);
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), State::Known(cuda), from_variant);
    let code = torch_code(facts, name, version, &variant, arch, variant_id, knowledge);
    component(cuda, code)
}

/// A component of which neither version nor build can be told; its CUDA may still be, by the index chosen.
fn component_unknown(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    why: &Why,
    component: &dyn Fn(Fact<CudaVersion>, Fact<GpuCode>) -> Component,
) -> Component {
    let name = framework.component;
    let read = Evidence::Derived { by: Derivation::Resolution, from: vec![package.fact], row: None };
    facts.add(FactKey::ComponentVersion, Some(name), State::Unknown(why.clone()), read.clone());
    let code = unknown(facts, FactKey::ComponentCode, Some(name), why.clone(), read.clone());
    let cuda = match package.variant.as_deref().map(variant_cuda) {
        Some(Some(cuda)) => State::Known(cuda),
        Some(None) => State::Absent { searched: "the build variant, which is none of CUDA" },
        None => State::Unknown(why.clone()),
    };
    component(facts.add_typed(FactKey::ComponentCuda, Some(name), cuda, read), code)
}

/// A framework whose distribution has one build a version.
fn from_build_row(
    facts: &mut Facts,
    framework: &'static FrameworkRow,
    package: &PackageSeen,
    version: &str,
    version_id: FactId,
    knowledge: Knowledge,
) -> Component {
    let name = framework.component;
    let row = knowledge.framework_build(&package.name, version);
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![version_id], row: row.map(|row| &row.info) };
    let why = Why {
        reason: format!("{} {version} is not in the tables of {}", package.name, knowledge.newest_date()),
        supply: "describe its CUDA runtime and GPU code in an image description".to_owned(),
    };
    let (cuda, code) = match row {
        None => (State::Unknown(why.clone()), State::Unknown(why)),
        Some(row) => {
            let cuda = row.cuda.map_or(State::Absent { searched: "the build, which has no CUDA" }, State::Known);
            let container = Signature { sass: row.sass.to_vec(), ptx: row.ptx.to_vec() };
            let code = if row.code_known { State::Known(GpuCode::from(container)) } else { State::Unknown(why) };
            (cuda, code)
        }
    };
    let cuda = facts.add_typed(FactKey::ComponentCuda, Some(name), cuda, evidence.clone());
    let code = facts.add_typed(FactKey::ComponentCode, Some(name), code, evidence);
    Component { name: name.to_owned(), role: Role::Core, cuda, code, codes: wording(framework) }
}

fn torch_code(
    facts: &mut Facts,
    name: &str,
    version: &str,
    variant: &str,
    arch: &str,
    from: FactId,
    knowledge: Knowledge,
) -> Fact<GpuCode> {
    let Some(row) = knowledge.torch_build(version, variant, arch) else {
        return no_code_row(facts, name, &format!("{version}+{variant} for {arch}"), from);
    };
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![from], row: Some(&row.info) };
    let container = Signature { sass: row.sass.to_vec(), ptx: row.ptx.to_vec() };
    facts.add_typed(FactKey::ComponentCode, Some(name), State::Known(GpuCode::from(container)), evidence)
}

fn no_code_row(facts: &mut Facts, name: &str, build: &str, from: FactId) -> Fact<GpuCode> {
    let evidence = Evidence::Derived { by: Derivation::Row, from: vec![from], row: None };
    let why = Why {
        reason: format!("the GPU code of {name} {build} is not in the tables"),
        supply: "list it under [[gpu_code]] in an image description".to_owned(),
    };
    unknown(facts, FactKey::ComponentCode, Some(name), why, evidence)
}

fn known_text(text: &str) -> State<Value> {
    State::Known(Value::Text(text.to_owned()))
}

fn wording(framework: &FrameworkRow) -> CodeWording {
    CodeWording { no_code: framework.no_code, bad_ptx: framework.bad_ptx }
}

/// `cu124` for 12.4.
fn variant_of(cuda: CudaVersion) -> String {
    format!("cu{}{}", cuda.major(), cuda.minor())
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
