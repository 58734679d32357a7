//! Schema of the knowledge tables: their names, keys and fields.
//!
//! Compiled twice: the build script writes the built-in tables by it, and the program reads a user's own tables by it.

/// Type of a field, in TOML and in Rust.
///
/// `Opt…` may be left out and is `None` then; a list that is left out is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Str,
    OptStr,
    Strs,
    U16,
    U32,
    OptU32,
    U32s,
    Bool,
    OptBool,
    /// A boolean that is false if absent.
    Flag,
    Cuda,
    OptCuda,
    /// A CUDA version of exactly two numbers.
    Minor,
    Cudas,
    Driver,
    OptDriver,
    Drivers,
    Capability,
    OptCapability,
    Capabilities,
    Targets,
    Day,
    OptDay,
    StrByArch,
    Brands,
    /// A table of names and values.
    Pairs,
    /// A variant of the named Rust enum, in kebab case; the allowed variants are listed.
    Variant(&'static str, &'static [&'static str]),
    /// Like `Kind::Variant`; the first listed variant is the default.
    VariantOrFirst(&'static str, &'static [&'static str]),
}

/// Schema of one table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Fields that identify a row.
    pub(crate) key: &'static [&'static str],
    pub(crate) fields: &'static [(&'static str, Kind)],
}

/// Provenance fields, which every row may have in addition to its own fields.
pub(crate) const PROVENANCE: &[&str] = &["source", "checked", "how"];

/// Kinds of evidence, weakest first.
pub(crate) const HOW: &[&str] = &["memory", "inferred", "documented", "measured"];
/// Kinds of evidence, with `inferred` as the default.
const HOW_ELSE_INFERRED: &[&str] = &["inferred", "memory", "documented", "measured"];
/// GPU classes.
const CLASS: &[&str] = &["data-center", "consumer", "workstation", "jetson", "vgpu", "other"];
/// Changes of the NVIDIA Container Toolkit.
const CHANGE: &[&str] = &[
    "brand-names",
    "capability-list",
    "capability-set",
    "compat-mode-option",
    "compat-opt-in",
    "compute-by-default",
    "csv-device-ids",
    "device-words",
    "disabled-hooks",
    "envvar-ignored",
    "hook-plain-error",
    "hook-reads-first",
    "image-reader",
    "lenient-versions",
    "modeset-optional",
    "none-in-jit-cdi",
    "qualified-names",
    "requirement-advice",
    "requirement-term",
    "swarm-first",
    "swarm-in-runtime",
];
/// Type of a field with the treatment of compat libraries.
const COMPAT: Kind =
    Kind::Variant("CompatSelection", &["off", "mount", "ldconfig", "hook-majors", "hook-note", "hook-cuda"]);

/// Hands every table to the macro `$act`.
macro_rules! every_table {
    ($act:ident) => { $act! {
    gpus: GpuRow by [name] {
        name: Str, aliases: Strs, capability: Capability, architecture: Str, class: Variant("GpuClass", CLASS),
        forward_compat: OptBool, brands: Brands, brand_how: VariantOrFirst("How", HOW_ELSE_INFERRED),
        first_branch: OptU32, last_branch: OptU32, arm64_host: Flag,
    }
    driver_branches: BranchRow by [branch] {
        branch: U32, cuda: Cuda, other_cuda: OptCuda, other_releases: Drivers, releases: Drivers, released: OptDay,
        end_of_support: OptDay,
    }
    architectures: ArchitectureRow by [name, capabilities] {
        name: Str, capabilities: Capabilities, first_toolkit: Cuda, last_toolkit: OptCuda, last_branch: OptU32, mig: Flag,
    }
    toolkits: ToolkitRow by [version] {
        version: Cuda, min_driver_full: OptDriver, bundled_driver: OptDriver, released: OptDay,
    }
    target_sets: TargetSetRow by [cuda] { cuda: Minor, ptx_isa: Cuda, targets: Targets }
    minor_compat: MinorCompatRow by [cuda_major] { cuda_major: U32, min_driver: Driver, from_branch: OptU32 }
    compat_packages: CompatRow by [cuda] { cuda: Minor, branch: U32, versions: Drivers, base_branches: U32s, noted: Flag }
    driver_releases: DriverReleaseRow by [version] { version: Driver, released: Day }
    driver_moves: DriverMoveRow by [name] { name: Str, into: U32s }
    forward_matrix: ForwardRow by [cuda, base_branch] { cuda: Minor, base_branch: U32, supported: Bool }
    requirements: RequireRow by [id] { id: Str, value: Str }
    cuda_images: CudaImageRow by [version] {
        version: Str, cuda_version: OptStr, flavours: Strs, os: Strs, compat_package: OptStr, ld_library_path: Str,
        visible_devices: Str, driver_capabilities: Str,
    }
    cuda_recipes: CudaRecipeRow by [version, require, compat, first, until] {
        version: Str, require: OptStr, compat: OptBool, first: OptDay, until: OptDay, arches: Pairs,
    }
    cuda_flavours: CudaFlavourRow by [name] { name: Str, holds: Strs, compiler: Flag }
    compiler_packages: CompilerPackageRow by [name] { name: Str, prefix: Flag }
    framework_images: FrameworkImageRow by [repository, tag] {
        repository: Str, tag: Str, cuda: Cuda, torch: OptStr, torch_channel: OptStr, base: OptStr, untouched: Flag,
        search_path: OptStr, ld_conf: Pairs, compat: OptDriver, brings: Pairs, compiled: Strs, sass: Targets, ptx: Targets,
        lacks: Strs, arches: Strs,
    }
    base_variables: BaseVariablesRow by [repository] { repository: Str, names: Strs }
    tool_scripts: ToolScriptRow by [address] { address: Str }
    image_installers: ImageInstallersRow by [repository] { repository: Str, lacks: Strs, path: Strs }
    packages_without_installer: PackageWithoutInstallerRow by [package] { package: Str, every_manager: Flag }
    plain_images: PlainImageRow by [repository] { repository: Str, torch: Flag }
    gpu_images: GpuImageRow by [name] { name: Str, without: Flag }
    other_processors: OtherProcessorRow by [kind, name] {
        kind: Str, name: Str, processor: Str, repository: Flag, any_tag: Flag,
    }
    image_arches: ImageArchesRow by [repository, word, from] {
        repository: Str, word: OptStr, from: OptStr, arches: Strs,
    }
    torch_releases: TorchRow by [version] {
        version: Str, default_variant: StrByArch, variants: Strs, released: OptDay, apart: Flag,
    }
    torch_builds: TorchBuildRow by [version, variant, arch] {
        version: Str, variant: Str, arch: Str, sass: Targets, ptx: Targets, unnamed: Flag,
    }
    framework_builds: FrameworkBuildRow by [distribution, version] {
        distribution: Str, version: Str, cuda: OptCuda, sass: Targets, ptx: Targets, code_known: Bool,
        released: OptDay, torch: OptStr,
    }
    arm64_builds: Arm64BuildRow by [distribution, version] {
        distribution: Str, version: Str, sass: Targets, ptx: Targets,
    }
    container_toolkits: ContainerToolkitRow by [from] {
        from: Cuda, before: OptCuda, legacy_hook: COMPAT, legacy_runtime: COMPAT, cdi: COMPAT, csv: COMPAT,
        follows_absolute_link: Bool, hook_needs_cache: Flag, keeps_listed_directories: Flag,
        auto_mode: Str, sample: Cuda, released: OptDay,
    }
    container_toolkit_days: ToolkitDayRow by [version] { version: Cuda, released: Day }
    errors: ErrorRow by [code] {
        code: U16, name: Str, text: Str, was: OptU32, was_before: OptCuda, driver_name: OptStr, rules: Strs,
        means: OptStr,
    }
    value_aliases: ValueAliasRow by [word] { word: Str, means: Strs }
    verdict_words: VerdictWordRow by [word] { word: Str, other: Strs, means: Str, rules: Strs }
    launch_methods: LaunchWordRow by [word] { word: Str, other: Strs, means: Str, rules: Strs }
    messages: MessageRow by [says] { says: Strs, rules: Strs, means: OptStr }
    build_asks: BuildAskRow by [what, program, words] {
        what: Str, program: Str, words: Strs, variable: OptStr, value: OptStr, without: OptStr, unless: OptStr,
    }
    code_libraries: CodeLibraryRow by [component, file] { component: Str, file: Str, beside: Flag }
    code_owners: CodeOwnerRow by [import] { import: Str, component: Str }
    cuda_parts: CudaPartRow by [place] { place: Str }
    jetson_upgrades: JetsonUpgradeRow by [base] { base: Cuda, compatible: Cudas }
    jetson_releases: JetsonReleaseRow by [driver] {
        driver: Driver, capabilities: Capabilities, cuda: Cuda, nvml: Flag,
    }
    windows_drivers: WindowsDriverRow by [from] { from: U32, before: U32, branch: U32 }
    base_families: BaseFamilyRow by [repository] {
        repository: Str, cuda_base: Flag, listed: Flag, unread: Flag, monthly: Flag, bare: Flag, month_tag: OptStr, other_months: Strs, compat: OptBool,
        compat_folder: OptStr,
        compat_probe: OptStr, probe_from: OptStr, torch: Flag, env: Pairs,
    }
    ngc_releases: NgcReleaseRow by [month] { month: Str, cuda: Cuda, compat: OptDriver, torch: OptStr }
    code_floors: CodeFloorRow by [repository, from] {
        repository: Str, from: Str, before: OptStr, capability: Capability, sure: OptCapability,
    }
    package_floors: PackageFloorRow by [distribution, from] {
        distribution: Str, from: Str, before: OptStr, capability: Capability,
    }
    frameworks: FrameworkRow by [distribution] {
        distribution: Str, component: Str, no_code: U16, bad_ptx: U16, variants: Flag, rides: OptStr, cpu_on: Strs,
        optional: Flag, cpu_builds: Flag, for_both: Flag, repositories: Strs, archives: Strs, compiles: Flag,
        per_cuda: OptStr, per_cuda_unless: OptStr, off_by: OptStr, without_cuda: OptStr, ptx_doubted: OptStr, imports_code: OptStr,
    }
    driver_packages: DriverPackageRow by [name] {
        name: Str, prefix: Flag, libcuda: Bool, graphics: Flag, toolkit: Flag, through: Flag, releases: Strs,
        chance: Flag, finds: Strs, beside: OptStr, without_rpm: Flag,
    }
    repository_packages: RepositoryPackageRow by [repository, name] {
        repository: Str, name: Str, prefix: Flag, brings: Str,
    }
    engines: EngineRow by [name] { name: Str, cdi_from: Cuda, cdi_released: OptDay }
    code_families: CodeFamilyRow by [capability] { capability: Capability, members: Capabilities }
    brands: BrandNumberRow by [name] { name: Str, number: U32, compat: Bool, later: Flag }
    tegra_capabilities: TegraRow by [capability] { capability: Capability, compat_root: OptStr, libcuda: OptDriver }
    operating_systems: OsRow by [name] {
        name: Str, debian: Bool, cacheless: Flag, musl: Flag, python: Strs, lean: OptStr, lean_python: Strs,
    }
    driver_sonames: DriverSonameRow by [soname] { soname: Str, capability: Str }
    library_packages: LibraryPackageRow by [name, from] {
        name: Str, from: OptCuda, before: OptCuda, sonames: Strs,
    }
    library_carriers: LibraryCarrierRow by [word] { word: Str, without: Strs }
    companion_packages: CompanionPackageRow by [distribution] { distribution: Str, from: OptCuda, brings: Strs }
    own_pages: OwnPageRow by [page] { page: Str }
    library_free: LibraryFreeRow by [distribution] { distribution: Str, from: OptCuda, extras: Strs }
    processor_packages: ProcessorPackageRow by [distribution] { distribution: Str, instead: Str, same_folder: Flag, by_name: Flag }
    library_needs: LibraryNeedsRow by [distribution, from] {
        distribution: Str, from: Cuda, before: OptCuda, needs: Strs, opens: Strs, falls_back: Flag, along: Flag, by_loader: Flag,
        with: OptStr, builds: Strs, whole: Strs,
    }
    library_parts: LibraryPartsRow by [soname] { soname: Str, parts: Strs }
    toolkit_libraries: ToolkitLibraryRow by [cuda_major, flavour, from] {
        cuda_major: U32, flavour: Str, from: OptCuda, before: OptCuda, sonames: Strs,
    }
    stub_directories: StubDirectoryRow by [flavour, arch] { flavour: Str, arch: Str, directories: Strs }
    month_tags: MonthTagRow by [repository, tag] { repository: Str, tag: Str, months: Strs }
    cudnn_tags: CudnnTagRow by [version] { version: Str, words: Strs }
    build_pages: BuildPageRow by [distribution] { distribution: Str, page: Str }
    package_asks: PackageAskRow by [distribution, package] {
        distribution: Str, package: Str, version: Str, range: Str,
    }
    release_asks: ReleaseAskRow by [distribution, package, version] {
        distribution: Str, package: Str, version: Str, range: Str, arch: OptStr,
    }
    torch_arch_names: TorchArchNameRow by [name, from] { name: Str, from: Str, before: OptStr, targets: Strs }
    torch_pins: TorchPinRow by [distribution, version] {
        distribution: Str, version: Str, torch: Str, on_python: Pairs, older: Pairs, unasked: Flag,
    }
    torch_pythons: TorchPythonRow by [python] { python: Str, first: Str, last: OptStr }
    wheel_pythons: WheelPythonRow by [distribution, python, first] {
        distribution: Str, python: Str, first: Str, last: OptStr,
    }
    platform_wheels: PlatformWheelRow by [distribution, arch, python, first] {
        distribution: Str, arch: Str, python: Str, first: Str, last: OptStr,
    }
    image_pythons: ImagePythonRow by [name, version] { name: Str, version: Str, python: Str }
    cuda_extensions: CudaExtensionRow by [distribution] {
        distribution: Str, repository: Str, variable: Str, force: OptStr, switch: OptStr, sdist: Flag, plain: Flag,
        cmake: Flag, also: OptStr,
    }
    library_wheels: LibraryWheelRow by [distribution] {
        distribution: Str, library: Str, cuda: OptCuda, versioned: Flag, runtime: Flag,
    }
    brought_packages: BroughtRow by [distribution, extra, brings, local, range, from] {
        distribution: Str, extra: Str, brings: Str, same: Flag, local: OptStr, range: OptStr, with: OptStr,
        from: OptStr, before: OptStr,
    }
    build_indexes: BuildIndexRow by [distribution] {
        distribution: Str, arm64_from: OptStr, with_torch: Flag, repository: OptStr, folders: Strs,
    }
    conda_variants: CondaVariantRow by [name] { name: Str, cpu: Flag, channel: OptStr }
    conda_builds: CondaBuildRow by [channel, variant, first] {
        channel: Str, variant: Str, first: Str, last: Str, sass: Targets, ptx: Targets,
    }
    runtime_packages: RuntimePackageRow by [name] { name: Str }
    cuda_names: CudaNameRow by [mark, after] { mark: Str, after: Str, minor: Flag }
    cuda_locals: CudaLocalRow by [distribution, from, before, digits] {
        distribution: Str, from: OptStr, before: OptStr, mark: Str, digits: OptStr, cuda: OptCuda,
    }
    gpu_packages: GpuPackageRow by [distribution] { distribution: Str }
    bundled_variants: BundledRow by [distribution, from] {
        distribution: Str, from: Str, newest: OptStr, variants: Strs, nearest: Flag,
    }
    triton_compilers: TritonRow by [version] { version: Str, ptxas: Cuda, ptxas_blackwell: OptCuda }
    toolkit_changes: ToolkitChangeRow by [change] { change: Variant("ToolkitChange", CHANGE), from: Cuda, library: Flag }
    wsl_libraries: WslLibraryRow by [library] { library: Str, windows_from: U32, toolkit_from: Cuda, toolkit_released: Day }
    cloud_instances: CloudInstanceRow by [name] { name: Str, provider: Str, gpu: Str, count: OptU32 }
    mig_profiles: MigProfileRow by [gpu] { gpu: Str, profiles: Strs }
    stage_names: StageNameRow by [word] { word: Str, purpose: Str }
    driver_programs: DriverProgramRow by [program] { program: Str }
    build_files: BuildFileRow by [file] {
        file: Str, distribution: Str, pairs: Flag, name: OptStr, version: OptStr, cuda: OptStr, hundreds: Flag,
        cuda_flag: OptStr, cudnn: OptStr, rocm: Strs, xpu: Strs,
    }
    withdrawn_tags: WithdrawnRow by [repository, version] { repository: Str, version: Str, instead: OptStr }
    unmet_extras: UnmetExtraRow by [distribution, extra, version] {
        distribution: Str, extra: Str, version: Str, python: OptStr,
    }
    } };
}

macro_rules! list {
    ($($name:ident: $row:ident by [$($key:ident),*] { $($field:ident: $kind:expr),* $(,)? })*) => {
        /// Every table, one file each.
        pub(crate) const TABLES: &[Table] = {
            use Kind::*;
            &[$(Table {
                name: stringify!($name),
                key: &[$(stringify!($key)),*],
                fields: &[$((stringify!($field), $kind)),*],
            }),*]
        };
    };
}

every_table!(list);
