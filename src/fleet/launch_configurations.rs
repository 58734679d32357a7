//! Launch configurations: the toolkit mode and the device source that a launch method implies for an engine and a
//! toolkit.

use jiff::civil::Date;

use crate::cuda::{ContainerToolkitRelease, CudaVersion, DriverVersion};
use crate::fleet::toolkit_options::default_capabilities;
use crate::fleet::{DeviceListStrategy, DeviceSource, Launch, Mode, Pool, PoolField, Runtime, ToolkitBehaviour};
use crate::knowledge::{CompatSelection, ContainerToolkitRow, Knowledge, ToolkitChange, ToolkitChanges, WslLibraryRow};

/// The hook that adds the compat directory to the cache of the loader.
const COMPAT_HOOK: &str = "enable-cuda-compat";

/// The launch methods that are checked where a pool declares none: all except `gke` and `native`.
const DEFAULT_LAUNCHES: &[Launch] = &[
    Launch::DockerGpus,
    Launch::Kubernetes,
    Launch::NvidiaRuntime,
    Launch::DockerCdi,
    Launch::PodmanCdi,
    Launch::Enroot,
    Launch::Singularity,
];

/// The versions of the container toolkit and of libnvidia-container.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolkitVersions {
    pub(super) row: &'static ContainerToolkitRow,
    pub(super) toolkit: CudaVersion,
    pub(super) library: CudaVersion,
    declared: bool,
    /// Newer than the tables: what it does is not known.
    pub(super) newer: bool,
}

impl ToolkitVersions {
    /// Whether these versions include a change of the toolkit.
    fn has_change(self, change: ToolkitChange, knowledge: Knowledge) -> bool {
        knowledge.toolkit_change(change).is_some_and(|row| {
            let version = if row.library { self.library } else { self.toolkit };
            version >= row.from
        })
    }

    /// Whether a container that requests no capability gets compute. Undeclared toolkits are assumed to be recent
    /// enough for it.
    fn has_compute_by_default(self, knowledge: Knowledge) -> bool {
        !self.declared || self.has_change(ToolkitChange::ComputeByDefault, knowledge)
    }

    /// Returns a library that a Windows driver requires under WSL and this toolkit does not mount.
    fn missing_wsl_library(
        self,
        mode: Mode,
        windows: Option<DriverVersion>,
        knowledge: Knowledge,
    ) -> Option<&'static WslLibraryRow> {
        let version = if mode == Mode::Legacy { self.library } else { self.toolkit };
        knowledge.missing_wsl_library(windows?.branch(), version)
    }

    /// Returns how the requirement check in csv mode parses versions.
    fn csv_version_parser(self, knowledge: Knowledge) -> ContainerToolkitRelease {
        if self.has_change(ToolkitChange::LenientVersions, knowledge) {
            ContainerToolkitRelease::After1_20_0
        } else {
            ContainerToolkitRelease::UpTo1_20_0
        }
    }
}

impl ToolkitBehaviour {
    /// Returns the behaviour of toolkit versions; the default where there is no toolkit.
    pub(super) fn for_versions(versions: Option<ToolkitVersions>, knowledge: Knowledge) -> Self {
        let has = |change| versions.is_some_and(|versions| versions.has_change(change, knowledge));
        let compute = versions.is_none_or(|versions| versions.has_compute_by_default(knowledge));
        Self {
            default_capabilities: default_capabilities(compute),
            swarm_in_runtime: has(ToolkitChange::SwarmInRuntime),
            reading: versions.map(|versions| versions.csv_version_parser(knowledge)).unwrap_or_default(),
            newer_brands: has(ToolkitChange::BrandNames),
            changes: ToolkitChanges::matching(has),
        }
    }
}

/// The toolkit mode, device source and toolkit versions of one launch method.
#[derive(Clone, Debug)]
pub(super) struct LaunchConfiguration {
    pub(super) mode: Mode,
    /// Whether the mode also depends on the requested devices.
    pub(super) auto: bool,
    pub(super) devices: DeviceSource,
    pub(super) versions: Option<ToolkitVersions>,
    pub(super) selection: CompatSelection,
    pub(super) accept_mounts: bool,
    pub(super) wsl_lacks: Option<&'static WslLibraryRow>,
    pub(super) assumed: Vec<PoolField>,
}

/// A toolkit mode that a launch method may imply, and the open field that it depends on.
struct PossibleMode {
    mode: Mode,
    auto: bool,
    devices: DeviceSource,
    open: Option<PoolField>,
}

impl PossibleMode {
    /// Creates a mode that depends on no open field.
    const fn new(mode: Mode, devices: DeviceSource) -> Self {
        Self { mode, auto: false, devices, open: None }
    }
}

impl Pool {
    /// Returns the declared launch method, or all default ones.
    pub(super) fn candidate_launches(&self) -> &[Launch] {
        self.launch.as_ref().map_or(DEFAULT_LAUNCHES, |launch| std::slice::from_ref(&launch.value))
    }

    /// Returns the possible configurations of a launch method, on Jetson modules or other nodes.
    pub(super) fn launch_configurations(
        &self,
        tegra: bool,
        driver: Option<DriverVersion>,
        launch: Launch,
        knowledge: Knowledge,
        as_of: Option<Date>,
    ) -> Vec<LaunchConfiguration> {
        if matches!(launch, Launch::Native | Launch::Singularity | Launch::Gke) {
            return vec![LaunchConfiguration {
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
        let mut ways: Vec<LaunchConfiguration> = Vec::new();
        for versions in self.toolkit_versions(driver, windows, knowledge, as_of) {
            for meaning in self.possible_modes(launch, versions.row, tegra, knowledge, as_of) {
                let wsl_lacks = versions.missing_wsl_library(meaning.mode, windows, knowledge);
                let selection = self.compat_selection(launch, meaning.mode, versions, knowledge);
                let open_toolkit = (!versions.declared).then_some(PoolField::Toolkit);
                let assumed: Vec<PoolField> = open_toolkit.into_iter().chain(meaning.open).collect();
                // Versions that behave alike here are merged into the newest one.
                ways.retain(|other| {
                    let alike =
                        (other.mode, other.selection, other.devices) == (meaning.mode, selection, meaning.devices);
                    let alike = alike && other.wsl_lacks.is_some() == wsl_lacks.is_some();
                    let row = other.versions.map(|versions| library_behaviour(other.mode, versions.row));
                    !alike || row != Some(library_behaviour(meaning.mode, versions.row))
                });
                ways.push(LaunchConfiguration {
                    mode: meaning.mode,
                    auto: meaning.auto && versions.has_change(ToolkitChange::QualifiedNames, knowledge),
                    devices: meaning.devices,
                    versions: Some(versions),
                    selection,
                    accept_mounts: self.accepts_volume_mounts().unwrap_or(false),
                    wsl_lacks,
                    assumed,
                });
            }
        }
        if self.accepts_volume_mounts().is_none() {
            // Off by default, yet the strategy requires it: it is assumed to be on.
            let mounts = ways.iter().filter(|way| way.devices == DeviceSource::Mounts).cloned();
            let accepted: Vec<LaunchConfiguration> =
                mounts.map(|way| LaunchConfiguration { accept_mounts: true, ..way }).collect();
            ways.extend(accepted);
            for way in ways.iter_mut().filter(|way| way.devices == DeviceSource::Mounts) {
                way.assumed.push(PoolField::Host);
            }
        }
        ways
    }

    /// Returns the declared toolkit versions, or those in use at a date.
    fn toolkit_versions(
        &self,
        driver: Option<DriverVersion>,
        windows: Option<DriverVersion>,
        knowledge: Knowledge,
        as_of: Option<Date>,
    ) -> Vec<ToolkitVersions> {
        let toolkit = self.toolkit.as_ref().map(|toolkit| toolkit.value);
        let library = self.libnvidia_container.as_ref().map(|library| library.value);
        if let Some((toolkit, library)) = toolkit.or(library).zip(library.or(toolkit)) {
            let known = knowledge.container_toolkit(library);
            let newer = known.is_none() || knowledge.container_toolkit(toolkit).is_none();
            // The newest known row is used as a substitute; no step of the container toolkit is decided by it.
            let row = known.or(knowledge.container_toolkits().last());
            // Of a toolkit of which the library alone is declared, the number is not known: the two went apart.
            let declared = self.toolkit.is_some();
            return row.map(|row| ToolkitVersions { row, toolkit, library, declared, newer }).into_iter().collect();
        }
        let of =
            |row, version| ToolkitVersions { row, toolkit: version, library: version, declared: false, newer: false };
        // A range in the midst of which a library came is tried on both sides.
        let later = |row: &'static ContainerToolkitRow| {
            let lacked = knowledge.missing_wsl_library(windows?.branch(), row.sample)?;
            let in_range = row.before.is_none_or(|before| lacked.toolkit_from < before);
            let out = as_of.is_none_or(|day| lacked.toolkit_released <= day);
            (in_range && out).then_some(of(row, lacked.toolkit_from))
        };
        let rows = knowledge.toolkits_in_use(driver, as_of);
        let found: Vec<ToolkitVersions> = rows
            .flat_map(|row| std::iter::once(of(row, knowledge.representative_toolkit(row, as_of))).chain(later(row)))
            .collect();
        if as_of.is_some() {
            return found;
        }
        // Those that have to be declared are tried only where there were no others yet.
        let preferred: Vec<ToolkitVersions> = found
            .iter()
            .filter(|versions| versions.has_change(ToolkitChange::ComputeByDefault, knowledge))
            .copied()
            .collect();
        if preferred.is_empty() { found } else { preferred }
    }

    /// Returns the toolkit modes that a launch method may imply with one toolkit.
    fn possible_modes(
        &self,
        launch: Launch,
        row: &'static ContainerToolkitRow,
        tegra: bool,
        knowledge: Knowledge,
        as_of: Option<Date>,
    ) -> Vec<PossibleMode> {
        let strategy = self.device_list_strategy.as_ref().map(|strategy| strategy.value);
        let under_nvidia = self.runtime.as_ref().map(|runtime| runtime.value == Runtime::Nvidia);
        let own = |devices| self.nvidia_runtime_mode(row, tegra, devices);
        let meanings = match launch {
            Launch::DockerCdi | Launch::PodmanCdi => vec![PossibleMode::new(Mode::Cdi, DeviceSource::Launch)],
            Launch::DockerGpus if under_nvidia == Some(true) => vec![own(DeviceSource::Variable)],
            Launch::DockerGpus => self.gpus_flag_modes(row, tegra, knowledge, as_of),
            Launch::Enroot => vec![PossibleMode::new(Mode::Legacy, DeviceSource::Enroot)],
            Launch::NvidiaRuntime => vec![own(DeviceSource::Environment)],
            // With another runtime, nothing reads the variable or the mounts.
            Launch::Kubernetes
                if under_nvidia == Some(false)
                    && matches!(
                        strategy,
                        None | Some(DeviceListStrategy::Envvar | DeviceListStrategy::VolumeMounts)
                    ) =>
            {
                vec![PossibleMode::new(Mode::None, DeviceSource::PlainRuntime)]
            }
            Launch::Kubernetes => vec![match strategy {
                // The engine injects the devices; under the nvidia runtime the image's own variable acts as well.
                Some(DeviceListStrategy::CdiCri) if under_nvidia == Some(true) => {
                    own(DeviceSource::LaunchAndEnvironment)
                }
                Some(DeviceListStrategy::CdiCri | DeviceListStrategy::CdiAnnotations) => {
                    PossibleMode::new(Mode::Cdi, DeviceSource::Launch)
                }
                Some(DeviceListStrategy::VolumeMounts) => own(DeviceSource::Mounts),
                // A configuration that accepts only mounts determines the strategy.
                None if self.accepts_only_volume_mounts() => own(DeviceSource::Mounts),
                Some(DeviceListStrategy::Envvar) | None => own(DeviceSource::Variable),
            }],
            Launch::Singularity | Launch::Gke | Launch::Native => {
                vec![PossibleMode::new(Mode::None, DeviceSource::Launch)]
            }
        };
        let Some(mode) = &self.mode else { return meanings };
        // A mode that the toolkit does not have leaves nothing to try, unless both are declared.
        if mode.value == Mode::JitCdi && row.auto_mode.parse() != Ok(Mode::JitCdi) && self.toolkit.is_none() {
            return Vec::new();
        }
        let devices = meanings.first().map_or(DeviceSource::Launch, |meaning| meaning.devices);
        // Docker itself injects CDI devices; its hook is gone where the nvidia runtime takes over.
        let hooked = devices == DeviceSource::Hook;
        let devices = match mode.value {
            Mode::Cdi if launch == Launch::DockerGpus && under_nvidia != Some(true) => DeviceSource::Launch,
            // The launch may provide devices without a toolkit.
            Mode::None if devices != DeviceSource::Launch => DeviceSource::Off,
            Mode::JitCdi if hooked => DeviceSource::Variable,
            Mode::Legacy if launch == Launch::DockerGpus && devices == DeviceSource::Launch => DeviceSource::Hook,
            _ => devices,
        };
        vec![PossibleMode::new(mode.value, devices)]
    }

    /// Returns the mode of the nvidia runtime: as configured, else by platform and version.
    fn nvidia_runtime_mode(
        &self,
        row: &'static ContainerToolkitRow,
        tegra: bool,
        devices: DeviceSource,
    ) -> PossibleMode {
        if let Some(mode) = self.configured_mode().and_then(|mode| mode.parse().ok()) {
            return PossibleMode::new(mode, devices);
        }
        let mode = if tegra { Mode::Csv } else { row.auto_mode.parse().unwrap_or(Mode::Legacy) };
        PossibleMode { auto: true, ..PossibleMode::new(mode, devices) }
    }

    /// Returns the modes of `docker run --gpus` without the nvidia runtime: the hook, or CDI by a recent engine with
    /// CDI specifications. An undeclared engine may use CDI where such engines exist at the date and the toolkit
    /// generates specifications by itself.
    fn gpus_flag_modes(
        &self,
        row: &ContainerToolkitRow,
        tegra: bool,
        knowledge: Knowledge,
        as_of: Option<Date>,
    ) -> Vec<PossibleMode> {
        let configured = self.configured_mode().and_then(|mode| mode.parse().ok());
        // The hook checks the configured mode, unless that is disabled.
        let blind = self.is_toolkit_option_enabled("nvidia-container-runtime-hook.skip-mode-detection");
        let mode = configured.unwrap_or(if tegra { Mode::Csv } else { Mode::Legacy });
        let mode = if blind { Mode::Legacy } else { mode };
        let hook = PossibleMode::new(mode, DeviceSource::Hook);
        let cdi = PossibleMode::new(Mode::Cdi, DeviceSource::Launch);
        let engine = self.engine.as_ref().map(|engine| engine.value.as_str()).filter(|engine| engine.contains(' '));
        let new_enough = engine.map(|engine| knowledge.engine_prefers_cdi(engine));
        let by_itself = row.auto_mode.parse() == Ok(Mode::JitCdi);
        let specs = self.cdi_specs.as_ref().map(|specs| specs.value);
        match (new_enough, specs) {
            (Some(true), Some(true)) => vec![cdi],
            (Some(true), None) => [hook, cdi].map(|way| PossibleMode { open: Some(PoolField::CdiSpecs), ..way }).into(),
            (None, Some(true)) => [hook, cdi].map(|way| PossibleMode { open: Some(PoolField::Engine), ..way }).into(),
            (None, None) if !tegra && by_itself && as_of.is_some_and(|day| knowledge.any_engine_prefers_cdi(day)) => {
                [hook, cdi].map(|way| PossibleMode { open: Some(PoolField::Engine), ..way }).into()
            }
            (Some(false), _) | (_, Some(false)) | (None, None) => vec![hook],
        }
    }

    /// Returns how the toolkit uses a compat library in the image.
    fn compat_selection(
        &self,
        launch: Launch,
        mode: Mode,
        versions: ToolkitVersions,
        knowledge: Knowledge,
    ) -> CompatSelection {
        let row = versions.row;
        let hook_off = self.is_toolkit_option_enabled("features.disable-cuda-compat-lib-hook");
        match mode {
            Mode::None => CompatSelection::Off,
            Mode::JitCdi | Mode::Csv
                if versions.has_change(ToolkitChange::DisabledHooks, knowledge)
                    && self.is_hook_disabled(COMPAT_HOOK) =>
            {
                CompatSelection::Off
            }
            Mode::Cdi | Mode::JitCdi => row.cdi,
            // The options are read where the hook is added to a mode; the later csv mode includes it.
            Mode::Csv
                if row.csv == CompatSelection::HookMajors
                    && (hook_off || self.mounts_compat_by_feature_flag(versions, knowledge)) =>
            {
                CompatSelection::Off
            }
            Mode::Csv => row.csv,
            // enroot calls the command-line tool itself, which mounts by default.
            Mode::Legacy if launch == Launch::Enroot => CompatSelection::Mount,
            Mode::Legacy => {
                let under_nvidia = self.runtime.as_ref().is_some_and(|runtime| runtime.value == Runtime::Nvidia);
                let by_hook = launch == Launch::DockerGpus && !under_nvidia;
                self.legacy_compat_selection(by_hook, hook_off, versions, knowledge)
            }
        }
    }

    /// Returns how the toolkit uses a compat library in legacy mode.
    fn legacy_compat_selection(
        &self,
        by_hook: bool,
        hook_off: bool,
        versions: ToolkitVersions,
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
        if versions.has_change(ToolkitChange::CompatModeOption, knowledge) {
            return match self.compat_mode() {
                Some("disabled") => CompatSelection::Off,
                Some("mount") => CompatSelection::Mount,
                Some("ldconfig") => CompatSelection::Ldconfig,
                Some("hook") if by_hook => CompatSelection::Off,
                Some("hook") => without_hook(row.cdi),
                _ => own,
            };
        }
        if self.mounts_compat_by_feature_flag(versions, knowledge) { CompatSelection::Mount } else { without_hook(own) }
    }

    /// Whether a feature flag, which later became an option, makes the toolkit mount compat libraries.
    fn mounts_compat_by_feature_flag(&self, versions: ToolkitVersions, knowledge: Knowledge) -> bool {
        self.is_toolkit_option_enabled("features.allow-cuda-compat-libs-from-container")
            && versions.has_change(ToolkitChange::CompatOptIn, knowledge)
            && !versions.has_change(ToolkitChange::CompatModeOption, knowledge)
    }
}

/// Returns the other behaviours of a toolkit that affect the libraries of an image in a mode.
fn library_behaviour(mode: Mode, row: &ContainerToolkitRow) -> [bool; 3] {
    let by_files = matches!(mode, Mode::Cdi | Mode::JitCdi | Mode::Csv);
    [
        mode == Mode::Legacy && row.follows_absolute_link,
        by_files && row.hook_needs_cache,
        by_files && row.keeps_listed_directories,
    ]
}
