//! Ways: which mode a launch means under an engine, a container toolkit and its configuration, and who says
//! which devices a container gets.

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::cuda::ToolkitVersion;
use crate::fleet::DeviceListStrategy;
use crate::fleet::DeviceSource;
use crate::fleet::Launch;
use crate::fleet::Mode;
use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::fleet::Runtime;
use crate::knowledge::CompatSelection;
use crate::knowledge::ContainerToolkitRow;
use crate::knowledge::Knowledge;
use crate::knowledge::ToolkitChange;
use crate::knowledge::WslLibraryRow;

/// The hook that puts a compat directory into the loader's cache.
const COMPAT_HOOK: &str = "enable-cuda-compat";

/// Versions of the container toolkit and of the library below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versions {
    pub(super) row: &'static ContainerToolkitRow,
    pub(super) toolkit: CudaVersion,
    pub(super) library: CudaVersion,
    declared: bool,
    /// Newer than the tables: what it does is not known.
    pub(super) newer: bool,
}

impl Versions {
    /// Whether a change has come.
    pub(super) fn has(self, change: ToolkitChange, knowledge: Knowledge) -> bool {
        knowledge.toolkit_change(change).is_some_and(|row| {
            let version = if row.library { self.library } else { self.toolkit };
            version >= row.from
        })
    }

    /// Whether a container that asks for no capability gets compute. Toolkits without it are too old to be
    /// taken for granted, on any day: whoever sees their containers without a driver says which they are.
    pub(super) fn compute_by_default(self, knowledge: Knowledge) -> bool {
        !self.declared || self.has(ToolkitChange::ComputeByDefault, knowledge)
    }

    /// A library that a Windows driver asks for under WSL and this toolkit does not bring.
    pub(super) fn wsl_lacks(
        self,
        mode: Mode,
        windows: Option<DriverVersion>,
        knowledge: Knowledge,
    ) -> Option<&'static WslLibraryRow> {
        let version = if mode == Mode::Legacy { self.library } else { self.toolkit };
        knowledge.wsl_lacks(windows?.branch(), version)
    }

    /// How the csv check reads versions.
    pub(super) fn reading(self, knowledge: Knowledge) -> ToolkitVersion {
        if self.has(ToolkitChange::LenientVersions, knowledge) {
            ToolkitVersion::After1_20_0
        } else {
            ToolkitVersion::UpTo1_20_0
        }
    }
}

/// A mode and a toolkit behind one launch.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) mode: Mode,
    /// Whether the mode follows from the devices asked for, too.
    pub(super) auto: bool,
    pub(super) devices: DeviceSource,
    pub(super) versions: Option<Versions>,
    pub(super) selection: CompatSelection,
    pub(super) accept_mounts: bool,
    pub(super) wsl_lacks: Option<&'static WslLibraryRow>,
    pub(super) assumed: Vec<PoolField>,
}

/// A mode that a launch may mean, and the open fields that it hangs on.
struct Meaning {
    mode: Mode,
    auto: bool,
    devices: DeviceSource,
    open: Option<PoolField>,
}

impl Meaning {
    const fn of(mode: Mode, devices: DeviceSource) -> Self {
        Self { mode, auto: false, devices, open: None }
    }
}

impl Pool {
    /// The modes and toolkits that one launch may mean, on modules or not.
    pub(super) fn ways(
        &self,
        tegra: bool,
        driver: Option<DriverVersion>,
        launch: Launch,
        knowledge: Knowledge,
        as_of: Option<Date>,
    ) -> Vec<Way> {
        if matches!(launch, Launch::Native | Launch::Singularity | Launch::Gke) {
            return vec![Way {
                mode: self.mode.as_ref().map_or(Mode::None, |mode| mode.value),
                auto: false,
                devices: DeviceSource::Launch,
                versions: None,
                selection: CompatSelection::Off,
                accept_mounts: false,
                wsl_lacks: None,
                assumed: Vec::new(),
            }];
        }
        let windows = driver.filter(|_| self.wsl.as_ref().is_some_and(|wsl| wsl.value));
        let mut ways: Vec<Way> = Vec::new();
        for versions in self.versions(driver, windows, knowledge, as_of) {
            for meaning in self.meanings(launch, versions.row, tegra, knowledge, as_of) {
                let wsl_lacks = versions.wsl_lacks(meaning.mode, windows, knowledge);
                let selection = self.compat_selection(launch, meaning.mode, versions, knowledge);
                let open_toolkit = (!versions.declared).then_some(PoolField::Toolkit);
                let assumed: Vec<PoolField> = open_toolkit.into_iter().chain(meaning.open).collect();
                // Versions that behave alike here need not be told apart; the newest stands for them.
                ways.retain(|other| {
                    let alike =
                        (other.mode, other.selection, other.devices) == (meaning.mode, selection, meaning.devices);
                    let alike = alike && other.wsl_lacks.is_some() == wsl_lacks.is_some();
                    let row = other.versions.map(|versions| libraries(other.mode, versions.row));
                    !alike || row != Some(libraries(meaning.mode, versions.row))
                });
                ways.push(Way {
                    mode: meaning.mode,
                    auto: meaning.auto && versions.has(ToolkitChange::QualifiedNames, knowledge),
                    devices: meaning.devices,
                    versions: Some(versions),
                    selection,
                    accept_mounts: self.accepts_mounts().unwrap_or(false),
                    wsl_lacks,
                    assumed,
                });
            }
        }
        if self.accepts_mounts().is_none() {
            // Off by default, yet without it the strategy cannot work: somebody will have set it.
            let mounts = ways.iter().filter(|way| way.devices == DeviceSource::Mounts).cloned();
            let accepted: Vec<Way> = mounts.map(|way| Way { accept_mounts: true, ..way }).collect();
            ways.extend(accepted);
            for way in ways.iter_mut().filter(|way| way.devices == DeviceSource::Mounts) {
                way.assumed.push(PoolField::Host);
            }
        }
        ways
    }

    fn versions(
        &self,
        driver: Option<DriverVersion>,
        windows: Option<DriverVersion>,
        knowledge: Knowledge,
        as_of: Option<Date>,
    ) -> Vec<Versions> {
        let toolkit = self.toolkit.as_ref().map(|toolkit| toolkit.value);
        let library = self.libnvidia_container.as_ref().map(|library| library.value);
        if let Some((toolkit, library)) = toolkit.or(library).zip(library.or(toolkit)) {
            let known = knowledge.container_toolkit(library);
            let newer = known.is_none() || knowledge.container_toolkit(toolkit).is_none();
            // The newest known one stands in; no step of the container toolkit is told by it.
            let row = known.or(knowledge.container_toolkits().last());
            // Of a toolkit of which the library alone is declared, the number is not known: the two went apart.
            let declared = self.toolkit.is_some();
            return row.map(|row| Versions { row, toolkit, library, declared, newer }).into_iter().collect();
        }
        let of = |row, version| Versions { row, toolkit: version, library: version, declared: false, newer: false };
        // A range in the midst of which a library came is tried on both sides.
        let later = |row: &'static ContainerToolkitRow| {
            let lacked = knowledge.wsl_lacks(windows?.branch(), row.sample)?;
            let in_range = row.before.is_none_or(|before| lacked.toolkit_from < before);
            let out = as_of.is_none_or(|day| lacked.toolkit_released <= day);
            (in_range && out).then_some(of(row, lacked.toolkit_from))
        };
        let rows = knowledge.toolkits_in_use(driver, as_of);
        let found: Vec<Versions> = rows
            .flat_map(|row| std::iter::once(of(row, knowledge.toolkit_sample(row, as_of))).chain(later(row)))
            .collect();
        if as_of.is_some() {
            return found;
        }
        // Those that have to be declared are tried only where there were no others yet.
        let taken: Vec<Versions> =
            found.iter().filter(|versions| versions.has(ToolkitChange::ComputeByDefault, knowledge)).copied().collect();
        if taken.is_empty() { found } else { taken }
    }

    /// What a launch means with one toolkit.
    fn meanings(
        &self,
        launch: Launch,
        row: &'static ContainerToolkitRow,
        tegra: bool,
        knowledge: Knowledge,
        as_of: Option<Date>,
    ) -> Vec<Meaning> {
        let strategy = self.device_list_strategy.as_ref().map(|strategy| strategy.value);
        let under_nvidia = self.runtime.as_ref().map(|runtime| runtime.value == Runtime::Nvidia);
        let own = |devices| self.of_runtime(row, tegra, devices);
        let meanings = match launch {
            Launch::DockerCdi | Launch::PodmanCdi => vec![Meaning::of(Mode::Cdi, DeviceSource::Launch)],
            Launch::DockerGpus if under_nvidia == Some(true) => vec![own(DeviceSource::Variable)],
            Launch::DockerGpus => self.of_gpus_flag(row, tegra, knowledge, as_of),
            Launch::Enroot => vec![Meaning::of(Mode::Legacy, DeviceSource::Enroot)],
            Launch::NvidiaRuntime => vec![own(DeviceSource::Environment)],
            // Where another runtime starts the container, nobody reads the variable or the mounts.
            Launch::Kubernetes
                if under_nvidia == Some(false)
                    && matches!(
                        strategy,
                        None | Some(DeviceListStrategy::Envvar | DeviceListStrategy::VolumeMounts)
                    ) =>
            {
                vec![Meaning::of(Mode::None, DeviceSource::Nobody)]
            }
            Launch::Kubernetes => vec![match strategy {
                // The engine injects the devices; under the nvidia runtime the image's own variable acts as well.
                Some(DeviceListStrategy::CdiCri) if under_nvidia == Some(true) => {
                    own(DeviceSource::LaunchAndEnvironment)
                }
                Some(DeviceListStrategy::CdiCri | DeviceListStrategy::CdiAnnotations) => {
                    Meaning::of(Mode::Cdi, DeviceSource::Launch)
                }
                Some(DeviceListStrategy::VolumeMounts) => own(DeviceSource::Mounts),
                // A configuration that takes mounts alone tells the strategy.
                None if self.takes_mounts_alone() => own(DeviceSource::Mounts),
                Some(DeviceListStrategy::Envvar) | None => own(DeviceSource::Variable),
            }],
            Launch::Singularity | Launch::Gke | Launch::Native => vec![Meaning::of(Mode::None, DeviceSource::Launch)],
        };
        let Some(mode) = &self.mode else { return meanings };
        // A mode that the toolkit does not have leaves nothing to try, unless both are declared.
        if mode.value == Mode::JitCdi && row.auto_mode != Mode::JitCdi.as_str() && self.toolkit.is_none() {
            return Vec::new();
        }
        let devices = meanings.first().map_or(DeviceSource::Launch, |meaning| meaning.devices);
        // Docker itself injects CDI devices; its hook is gone where the nvidia runtime takes over.
        let hooked = devices == DeviceSource::Hook;
        let devices = match mode.value {
            Mode::Cdi if launch == Launch::DockerGpus && under_nvidia != Some(true) => DeviceSource::Launch,
            // Who starts it may hand devices out without a toolkit.
            Mode::None if devices != DeviceSource::Launch => DeviceSource::Off,
            Mode::JitCdi if hooked => DeviceSource::Variable,
            Mode::Legacy if launch == Launch::DockerGpus && devices == DeviceSource::Launch => DeviceSource::Hook,
            _ => devices,
        };
        vec![Meaning::of(mode.value, devices)]
    }

    /// The nvidia runtime: as configured, else by platform and version.
    fn of_runtime(&self, row: &'static ContainerToolkitRow, tegra: bool, devices: DeviceSource) -> Meaning {
        if let Some(mode) = self.configured_mode().and_then(|mode| mode.parse().ok()) {
            return Meaning::of(mode, devices);
        }
        let mode = if tegra { Mode::Csv } else { row.auto_mode.parse().unwrap_or(Mode::Legacy) };
        Meaning { auto: true, ..Meaning::of(mode, devices) }
    }

    /// `docker run --gpus` without the nvidia runtime: the hook, or CDI by the engine where it is new enough and
    /// the node has specifications. An engine that is not declared is asked for where a day is given that has such
    /// engines, and a toolkit that writes specifications unasked: those that make them at every start do.
    fn of_gpus_flag(
        &self,
        row: &ContainerToolkitRow,
        tegra: bool,
        knowledge: Knowledge,
        as_of: Option<Date>,
    ) -> Vec<Meaning> {
        let configured = self.configured_mode().and_then(|mode| mode.parse().ok());
        // The hook looks at the mode that its configuration means, unless it is told not to.
        let blind = self.host_flag("nvidia-container-runtime-hook.skip-mode-detection");
        let mode = configured.unwrap_or(if tegra { Mode::Csv } else { Mode::Legacy });
        let mode = if blind { Mode::Legacy } else { mode };
        let hook = Meaning::of(mode, DeviceSource::Hook);
        let cdi = Meaning::of(Mode::Cdi, DeviceSource::Launch);
        let engine = self.engine.as_ref().map(|engine| engine.value.as_str()).filter(|engine| engine.contains(' '));
        let new_enough = engine.map(|engine| knowledge.engine_prefers_cdi(engine));
        let by_itself = row.auto_mode == Mode::JitCdi.as_str();
        let specs = self.cdi_specs.as_ref().map(|specs| specs.value);
        match (new_enough, specs) {
            (Some(true), Some(true)) => vec![cdi],
            (Some(true), None) => [hook, cdi].map(|way| Meaning { open: Some(PoolField::CdiSpecs), ..way }).into(),
            (None, Some(true)) => [hook, cdi].map(|way| Meaning { open: Some(PoolField::Engine), ..way }).into(),
            (None, None) if !tegra && by_itself && as_of.is_some_and(|day| knowledge.cdi_preferred_by(day)) => {
                [hook, cdi].map(|way| Meaning { open: Some(PoolField::Engine), ..way }).into()
            }
            (Some(false), _) | (_, Some(false)) | (None, None) => vec![hook],
        }
    }

    fn compat_selection(
        &self,
        launch: Launch,
        mode: Mode,
        versions: Versions,
        knowledge: Knowledge,
    ) -> CompatSelection {
        let row = versions.row;
        let hook_off = self.host_flag("features.disable-cuda-compat-lib-hook");
        match mode {
            Mode::None => CompatSelection::Off,
            Mode::JitCdi | Mode::Csv
                if versions.has(ToolkitChange::DisabledHooks, knowledge) && self.hook_disabled(COMPAT_HOOK) =>
            {
                CompatSelection::Off
            }
            Mode::Cdi | Mode::JitCdi => row.cdi,
            // The switches are read where the hook is added to a mode; the later csv mode brings it by itself.
            Mode::Csv if row.csv == CompatSelection::HookMajors && (hook_off || self.opted_in(versions, knowledge)) => {
                CompatSelection::Off
            }
            Mode::Csv => row.csv,
            // enroot calls the command-line tool itself, which mounts unless told otherwise.
            Mode::Legacy if launch == Launch::Enroot => CompatSelection::Mount,
            Mode::Legacy => {
                let under_nvidia = self.runtime.as_ref().is_some_and(|runtime| runtime.value == Runtime::Nvidia);
                let by_hook = launch == Launch::DockerGpus && !under_nvidia;
                self.legacy_selection(by_hook, hook_off, versions, knowledge)
            }
        }
    }

    fn legacy_selection(
        &self,
        by_hook: bool,
        hook_off: bool,
        versions: Versions,
        knowledge: Knowledge,
    ) -> CompatSelection {
        let row = versions.row;
        let without_hook = |own: CompatSelection| match own {
            CompatSelection::HookMajors | CompatSelection::HookNote | CompatSelection::HookCuda if hook_off => {
                CompatSelection::Off
            }
            own => own,
        };
        let own = if by_hook { row.legacy_hook } else { row.legacy_runtime };
        if versions.has(ToolkitChange::CompatModeOption, knowledge) {
            return match self.compat_mode() {
                Some("disabled") => CompatSelection::Off,
                Some("mount") => CompatSelection::Mount,
                Some("ldconfig") => CompatSelection::Ldconfig,
                Some("hook") if by_hook => CompatSelection::Off,
                Some("hook") => without_hook(row.cdi),
                _ => own,
            };
        }
        if self.opted_in(versions, knowledge) { CompatSelection::Mount } else { without_hook(own) }
    }

    /// Whether compat libraries are mounted by a switch that later gave way to an option.
    fn opted_in(&self, versions: Versions, knowledge: Knowledge) -> bool {
        self.host_flag("features.allow-cuda-compat-libs-from-container")
            && versions.has(ToolkitChange::CompatOptIn, knowledge)
            && !versions.has(ToolkitChange::CompatModeOption, knowledge)
    }
}

/// What else a toolkit does with the libraries of an image, as far as its mode asks for it.
fn libraries(mode: Mode, row: &ContainerToolkitRow) -> [bool; 3] {
    let by_files = matches!(mode, Mode::Cdi | Mode::JitCdi | Mode::Csv);
    [
        mode == Mode::Legacy && row.follows_absolute_link,
        by_files && row.hook_needs_cache,
        by_files && row.keeps_listed_directories,
    ]
}
