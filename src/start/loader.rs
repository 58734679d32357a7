//! Loader: which libcuda a program gets, of the host's, the compat directory's and those baked in.

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::CompatLibrary;
use crate::fact::ElfNote;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::State;
use crate::fleet::Launch;
use crate::fleet::PoolField;
use crate::knowledge::CompatSelection;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;

const SELECT: Cite = Cite(
    "libnvidia-container src/nvc_container.c and compat_mode.c; nvidia-container-toolkit v1.20.0, cmd/nvidia-cdi-hook/cudacompat",
);
const LDCONFIG: Cite =
    Cite("ld.so(8), ldconfig(8): LD_LIBRARY_PATH first, then the cache; of one directory the highest version");
const GKE: Cite = Cite("GKE device plugin: the driver is mounted under /usr/local/nvidia and nowhere else");

/// Where a program's libcuda comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The host.
    Host,
    /// The compat directory of the image.
    Compat(CompatLibrary),
    /// Elsewhere in the image.
    Image(String),
    /// Nowhere.
    Nowhere,
}

/// The libcuda that a program gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// From where; none where it cannot be told.
    pub source: Option<Source>,
    /// Its version, where known.
    pub version: Option<DriverVersion>,
    /// The newest CUDA that it supports, where known.
    pub cuda: Option<CudaVersion>,
    /// The variable that puts it before all others, where one does.
    pub forced_by: Option<FactId>,
}

impl Loaded {
    fn unknown() -> Self {
        Self { source: None, version: None, cuda: None, forced_by: None }
    }

    fn host(replay: Replay<'_>) -> Self {
        Self { source: Some(Source::Host), version: replay.host.driver, cuda: replay.host.driver_cuda, forced_by: None }
    }

    fn compat(replay: Replay<'_>, library: &CompatLibrary) -> Self {
        let note = library.note.as_ref().and_then(|note| note.cuda);
        let by_branch = || replay.knowledge.driver_cuda(library.version).map(|(cuda, _)| cuda);
        let package = || replay.image.compat.known().and_then(|compat| compat.cuda);
        Self {
            source: Some(Source::Compat(library.clone())),
            version: Some(library.version),
            cuda: note.or_else(by_branch).or_else(package),
            forced_by: None,
        }
    }

    /// The note of a compat library.
    pub fn note(&self) -> Option<&ElfNote> {
        match &self.source {
            Some(Source::Compat(library)) => library.note.as_ref(),
            _ => None,
        }
    }
}

/// Which libcuda does the loader find?
pub(super) fn step(replay: Replay<'_>) -> (Loaded, StepRecord) {
    let path = replay.image.env.get("LD_LIBRARY_PATH");
    let run_path = replay.host.env.get("LD_LIBRARY_PATH");
    let basis = Basis::Image(path.id);
    if replay.host.launch == Launch::Gke {
        return gke(replay, path, run_path);
    }
    let search: Option<&str> = run_path.map(String::as_str).or_else(|| path.known().map(String::as_str));
    if let Some(found) = search.and_then(|search| on_search_path(replay, search, basis)) {
        return found;
    }
    let selection = select(replay);
    // An unseen LD_LIBRARY_PATH may put anything first, but only what the image holds.
    let unseen = run_path.is_none() && path.is_unknown() && !nothing_to_find(replay);
    let loaded = match selection {
        Some(_) if unseen => Loaded::unknown(),
        Some(source) => baked_over(replay, source),
        None => Loaded::unknown(),
    };
    let compat = Basis::Image(replay.image.compat.id);
    let baked = Basis::Image(replay.image.driver_libraries.id);
    let row = replay.host.toolkit.map(|row| Basis::Row(&row.info));
    let pool = [Basis::Pool(PoolField::Driver), Basis::Pool(PoolField::Toolkit)];
    match &loaded.source {
        None => {
            let missing = [&replay.image.compat.id, &replay.image.driver_libraries.id]
                .into_iter()
                .filter(|id| replay.image.why(**id).is_some())
                .map(|id| Basis::Image(*id))
                .chain(
                    (replay.host.driver.is_none() && !nothing_to_find(replay))
                        .then_some(Basis::Pool(PoolField::Driver)),
                )
                .chain(unseen.then_some(basis));
            (loaded.clone(), StepRecord::new(Step::Loader, StepResult::Unknown, missing, SELECT))
        }
        Some(Source::Host) => {
            let facts = [compat, baked].into_iter().chain(pool).chain(row);
            (loaded.clone(), StepRecord::new(Step::Loader, StepResult::Passes(Route::Native), facts, SELECT))
        }
        Some(Source::Compat(_)) => {
            let facts = [compat].into_iter().chain(pool).chain(row);
            (loaded.clone(), StepRecord::new(Step::Loader, StepResult::Passes(Route::ForwardCompat), facts, SELECT))
        }
        Some(Source::Image(_) | Source::Nowhere) => {
            let facts = [baked].into_iter().chain(pool);
            (loaded.clone(), StepRecord::new(Step::Loader, StepResult::Passes(Route::Native), facts, LDCONFIG))
        }
    }
}

/// Whether the image certainly holds no libcuda at all.
fn nothing_to_find(replay: Replay<'_>) -> bool {
    matches!(replay.image.compat.state, State::Absent { .. })
        && matches!(replay.image.driver_libraries.state, State::Absent { .. })
}

/// GKE mounts the driver into one directory, which the image must look into by itself.
fn gke(replay: Replay<'_>, path: &Fact<String>, run_path: Option<&String>) -> (Loaded, StepRecord) {
    const DIRECTORY: &str = "/usr/local/nvidia/lib64";
    let facts = [Basis::Image(path.id), Basis::Pool(PoolField::Launch)];
    let value = run_path.or(path.known());
    let looks = value.map(|value| value.split(':').any(|directory| directory.trim_end_matches('/') == DIRECTORY));
    let (loaded, result) = match looks {
        Some(true) => (Loaded::host(replay), StepResult::Passes(Route::Native)),
        None if path.is_unknown() => (Loaded::unknown(), StepResult::Unknown),
        Some(false) | None => {
            let nowhere = Loaded { source: Some(Source::Nowhere), version: None, cuda: None, forced_by: None };
            (nowhere, StepResult::Stops(Wall::new(Outcome::NoGpu, Codes::certain(35))))
        }
    };
    (loaded, StepRecord::new(Step::Loader, result, facts, GKE))
}

/// A directory of `LD_LIBRARY_PATH` that holds a libcuda comes before everything else.
fn on_search_path(replay: Replay<'_>, search: &str, basis: Basis) -> Option<(Loaded, StepRecord)> {
    let libraries = replay.image.driver_libraries.known();
    for directory in search.split(':').map(|directory| directory.trim_end_matches('/')) {
        let baked = libraries.into_iter().flatten().find(|library| {
            library
                .path
                .strip_prefix(directory)
                .is_some_and(|name| name.starts_with("/libcuda.so.") && !directory.is_empty())
        });
        if let Some(library) = baked {
            let facts = [Basis::Image(replay.image.driver_libraries.id), basis];
            return Some(of_image(replay, &library.path, library.version, library.stub, facts));
        }
        let compat_directory = directory.starts_with("/usr/local/cuda") && directory.ends_with("/compat");
        if !compat_directory {
            continue;
        }
        let compat = &replay.image.compat;
        let facts = [Basis::Image(compat.id), basis];
        match &compat.state {
            State::Known(known) => {
                let library = known.libraries.iter().max_by_key(|library| library.version)?;
                let record = StepRecord::new(Step::Loader, StepResult::Passes(Route::ForwardCompat), facts, LDCONFIG);
                let forced_by = Some(replay.image.env.get("LD_LIBRARY_PATH").id);
                return Some((Loaded { forced_by, ..Loaded::compat(replay, library) }, record));
            }
            State::Absent { .. } => {}
            State::Unknown(_) => {
                return Some((Loaded::unknown(), StepRecord::new(Step::Loader, StepResult::Unknown, facts, LDCONFIG)));
            }
        }
    }
    None
}

fn of_image(
    replay: Replay<'_>,
    path: &str,
    version: Option<DriverVersion>,
    stub: bool,
    facts: [Basis; 2],
) -> (Loaded, StepRecord) {
    let cuda = version.and_then(|version| replay.knowledge.driver_cuda(version)).map(|(cuda, _)| cuda);
    let loaded = Loaded { source: Some(Source::Image(path.to_owned())), version, cuda, forced_by: None };
    let result = if stub {
        StepResult::Stops(Wall::new(Outcome::StubLibrary, Codes::certain(34)))
    } else {
        StepResult::Passes(Route::Native)
    };
    (loaded, StepRecord::new(Step::Loader, result, facts, LDCONFIG))
}

/// The host's or the compat library, as the container toolkit decides; none where that cannot be told.
fn select(replay: Replay<'_>) -> Option<Loaded> {
    let selection = replay.host.compat_selection;
    if selection == CompatSelection::Off {
        return Some(Loaded::host(replay));
    }
    let compat = match &replay.image.compat.state {
        State::Known(compat) => compat,
        State::Absent { .. } => return Some(Loaded::host(replay)),
        State::Unknown(_) => return None,
    };
    // WSL's own libcuda belongs to the Windows driver.
    if replay.host.wsl {
        return Some(Loaded::host(replay));
    }
    let host = replay.host.driver?;
    let chosen = match selection {
        CompatSelection::Off => None,
        CompatSelection::Mount => compat
            .libraries
            .iter()
            .filter(|library| !textually_begins(host, library.version) && library.version > host)
            .max_by_key(|library| library.version),
        CompatSelection::Ldconfig => compat
            .libraries
            .iter()
            .filter(|library| textually_below(host, library.version))
            .max_by_key(|library| library.version),
        CompatSelection::HookMajors => {
            only(&compat.libraries).filter(|library| host.branch() < library.version.branch())
        }
        CompatSelection::HookNote => only(&compat.libraries).filter(|library| match &library.note {
            Some(note) => note.driver.contains(&host.branch()) && library.version > host,
            None => host.branch() < library.version.branch(),
        }),
        CompatSelection::HookCuda => only(&compat.libraries).filter(|library| {
            let note = library.note.as_ref().and_then(|note| note.cuda);
            note.zip(replay.host.driver_cuda).is_some_and(|(note, host)| note > host)
        }),
    };
    Some(chosen.map_or_else(|| Loaded::host(replay), |library| Loaded::compat(replay, library)))
}

/// The hook does nothing where there is not exactly one library.
fn only(libraries: &[CompatLibrary]) -> Option<&CompatLibrary> {
    match libraries {
        [library] => Some(library),
        _ => None,
    }
}

/// libnvidia-container compares text: a library is of the host's major where the host's version begins with it.
fn textually_begins(host: DriverVersion, library: DriverVersion) -> bool {
    host.to_string().starts_with(&library.branch().to_string())
}

/// The same comparison for order.
fn textually_below(host: DriverVersion, library: DriverVersion) -> bool {
    let major = library.branch().to_string();
    let host = host.to_string();
    host.get(..major.len()).is_some_and(|host| host < major.as_str())
}

/// A libcuda that the image brings in the host libraries' own directory wins where its version is higher.
fn baked_over(replay: Replay<'_>, selected: Loaded) -> Loaded {
    let from_host = selected.source == Some(Source::Host);
    // A compat directory put first is found before the system's directory.
    let system_first = from_host || replay.host.compat_selection == CompatSelection::Mount;
    let libraries = match &replay.image.driver_libraries.state {
        State::Known(libraries) if system_first => libraries,
        State::Unknown(_) if system_first => return Loaded::unknown(),
        _ => return selected,
    };
    let rivals =
        libraries.iter().filter(|library| library.libcuda && !library.stub && in_system_directory(&library.path));
    let Some(baked) = rivals.max_by_key(|library| library.version) else { return selected };
    match (baked.version, selected.version) {
        (Some(baked_version), Some(version)) if baked_version > version => {
            let cuda = replay.knowledge.driver_cuda(baked_version).map(|(cuda, _)| cuda);
            Loaded {
                source: Some(Source::Image(baked.path.clone())),
                version: Some(baked_version),
                cuda,
                forced_by: None,
            }
        }
        (Some(_), Some(_)) => selected,
        // A package or link without a version: which of the two is higher cannot be told.
        _ => Loaded::unknown(),
    }
}

/// Whether a path is a libcuda where the host's goes, or a package that puts one there.
fn in_system_directory(path: &str) -> bool {
    const DIRECTORIES: &[&str] = &[
        "/usr/lib/x86_64-linux-gnu/",
        "/usr/lib/aarch64-linux-gnu/",
        "/usr/lib64/",
        "/lib/x86_64-linux-gnu/",
        "/lib/aarch64-linux-gnu/",
        "/lib64/",
    ];
    !path.contains('/')
        || DIRECTORIES.iter().any(|directory| {
            path.strip_prefix(directory).is_some_and(|name| name.starts_with("libcuda.so.") && name != "libcuda.so.1")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majors_are_compared_as_text() {
        let version = |text: &str| text.parse::<DriverVersion>().expect(text);
        assert!(textually_begins(version("460.32.03"), version("460.91.03")));
        assert!(!textually_begins(version("460.32.03"), version("450.51.06")));
        assert!(textually_below(version("460.32.03"), version("515.65.01")));
        assert!(!textually_below(version("525.116.03"), version("515.65.01")));
    }

    #[test]
    fn only_versioned_files_in_library_directories_rival_the_hosts() {
        for (path, expected) in [
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03", true),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", false),
            ("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.54.03", false),
            ("/opt/driver/libcuda.so.535.54.03", false),
            ("libnvidia-compute-535", true),
        ] {
            assert_eq!(in_system_directory(path), expected, "{path}");
        }
    }
}
