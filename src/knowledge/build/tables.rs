//! Declarations of the knowledge tables and of the enums in their fields. The TOML files, the check at build time,
//! `--knowledge`, `imagelint knowledge` and the Rust row types all use them.
//!
//! Compiled twice: into the build script, which generates the built-in tables, and into the program, which reads the
//! tables of a user.

/// Calls the macro `$act` with every field enum.
macro_rules! every_field_enum {
    ($act:ident) => {
        $act! {
        /// Class of a GPU, which decides about forward compatibility.
        GpuClass {
            /// Tesla GPUs and their successors.
            DataCenter = "data-center",
            /// `GeForce` and `TITAN`.
            Consumer = "consumer",
            /// Quadro and RTX professional boards.
            Workstation = "workstation",
            /// Jetson and DRIVE modules.
            Jetson = "jetson",
            /// A virtual GPU.
            Vgpu = "vgpu",
            /// Any other class, such as GPUs of mobile workstations.
            Other = "other",
        }
        /// Rule by which the container toolkit chooses between the compat library of the image and the libcuda of the host.
        CompatSelection {
            /// Always the libcuda of the host.
            Off = "off",
            /// Both are mounted in one directory; the highest version in the file name wins.
            Mount = "mount",
            /// The compat directory is first for ldconfig if its driver major version is greater than that of the host.
            Ldconfig = "ldconfig",
            /// The `enable-cuda-compat` hook compares the driver major versions.
            HookMajors = "hook-majors",
            /// The hook uses the ELF note of the library, otherwise the driver major versions.
            HookNote = "hook-note",
            /// The hook uses the CUDA version of the host and the ELF note (Tegra).
            HookCuda = "hook-cuda",
        }
        /// How the arguments of an installer are read.
        InstallerSyntax {
            /// As those of pip: a verb, then requirements and options.
            Pip = "pip",
            /// As those of `uv pip`.
            Uv = "uv",
            /// Requirements alone.
            Requirements = "requirements",
            /// Options, then a tool that is installed for one run.
            SingleRun = "single-run",
            /// A new environment of uv.
            NewEnvironment = "new-environment",
            /// Requirement files that the environment then matches.
            Synchronize = "synchronize",
            /// A tool that installs the requirements of a project.
            Project = "project",
            /// Such a tool, followed by another command.
            ProjectRun = "project-run",
            /// conda.
            Conda = "conda",
            /// conda, followed by another command.
            CondaRun = "conda-run",
            /// conda-lock.
            CondaLock = "conda-lock",
            /// A system package manager.
            System = "system",
        }
        /// What a program does with its operands.
        ToolEffect {
            /// It changes no file, or only files that no Dockerfile names.
            Nothing = "nothing",
            /// It copies all operands but the last to the last one.
            Copy = "copy",
            /// It copies them; of a source that ends with a slash, the content.
            Synchronize = "synchronize",
            /// It moves them.
            Move = "move",
            /// It links to them.
            Link = "link",
            /// It removes its operands.
            Remove = "remove",
            /// It creates its operands as folders.
            MakeDirectory = "make-directory",
            /// It creates those of its operands that do not exist.
            Create = "create",
            /// It writes its operands.
            Write = "write",
            /// It downloads its operands to its standard output.
            Download = "download",
            /// It downloads its operands to files with the names in the addresses.
            DownloadByName = "download-by-name",
            /// It downloads its operands to files that the server names.
            DownloadByServerName = "download-by-server-name",
            /// It downloads all operands but the last to the last one, uploads them if that is a URL, or copies them if none
            /// is one.
            CopyUrl = "copy-url",
            /// It unpacks its first operand.
            Unpack = "unpack",
        }
        /// How the value of an option is written.
        OptionValue {
            /// The option has no value.
            Absent = "absent",
            /// In the same word or the next one.
            Required = "required",
            /// In the same word only.
            Joined = "joined",
        }
        /// What an option means for the files that a program changes.
        OptionMeaning {
            /// Nothing.
            Ignored = "ignored",
            /// Its value is the folder for the results.
            Folder = "folder",
            /// Its value is the folder for results with the names in the addresses.
            RemoteFolder = "remote-folder",
            /// Its value is the file for the result.
            File = "file",
            /// The results have the names in the addresses.
            RemoteName = "remote-name",
            /// The server may determine the names of the results.
            ServerName = "server-name",
            /// Its value is one more operand.
            Operand = "operand",
            /// Folders are copied with all that they contain.
            Recursive = "recursive",
            /// The last operand is never a folder for the results.
            NoFolder = "no-folder",
            /// Operands are folders to create.
            Directories = "directories",
            /// It links in place of copying.
            Link = "link",
            /// It may leave out files, or keep those at the destination.
            Selective = "selective",
            /// The operands are edited in place.
            InPlace = "in-place",
            /// The first operand is no script.
            Script = "script",
            /// No file changes.
            Nothing = "nothing",
            /// Any file may change.
            Anything = "anything",
        }
        /// A change in the behaviour of the NVIDIA Container Toolkit.
        ToolkitChange {
            /// The requirement check recognises the newer GPU brands.
            BrandNames = "brand-names",
            /// Driver capabilities are compared as a list; before, the first unknown one ended the comparison.
            CapabilityList = "capability-list",
            /// Driver capabilities are trimmed, and `all` counts at any position.
            CapabilitySet = "capability-set",
            /// The option `cuda-compat-mode` is read.
            CompatModeOption = "compat-mode-option",
            /// The option `allow-cuda-compat-libs-from-container` is read.
            CompatOptIn = "compat-opt-in",
            /// A container that requests no driver capability gets compute and utility, not only utility.
            ComputeByDefault = "compute-by-default",
            /// The csv mode evaluates which devices are requested, not only whether any is.
            CsvDeviceIds = "csv-device-ids",
            /// `all`, `none` and `void` count at any position of a device list, and its names are trimmed.
            DeviceWords = "device-words",
            /// The option `nvcdi-disable-hooks` is read.
            DisabledHooks = "disabled-hooks",
            /// Devices that an unprivileged container may not request are ignored; before, the container was not created.
            EnvvarIgnored = "envvar-ignored",
            /// The error of the hook for a mode that it does not support ends without a full stop.
            HookPlainError = "hook-plain-error",
            /// The hook reads the environment of the container before it checks its mode.
            HookReadsFirst = "hook-reads-first",
            /// `CUDA_VERSION` is parsed as a semantic version, and `NVIDIA_REQUIRE_JETPACK` is no requirement.
            ImageReader = "image-reader",
            /// The csv requirement check accepts versions with leading zeros.
            LenientVersions = "lenient-versions",
            /// A missing `/dev/nvidia-modeset` on the node is a warning, not an error.
            ModesetOptional = "modeset-optional",
            /// `none` injects no device in jit-cdi mode.
            NoneInJitCdi = "none-in-jit-cdi",
            /// Qualified CDI device names select the cdi mode.
            QualifiedNames = "qualified-names",
            /// The requirement check recommends a newer driver if the CUDA version is too low.
            RequirementAdvice = "requirement-advice",
            /// The requirement check reports the first term; before, the last condition that failed.
            RequirementTerm = "requirement-term",
            /// Variables of `swarm-resource` take precedence over `NVIDIA_VISIBLE_DEVICES`.
            SwarmFirst = "swarm-first",
            /// The nvidia runtime reads `swarm-resource`, not only the hook.
            SwarmInRuntime = "swarm-in-runtime",
        }
        }
    };
}

/// Calls the macro `$act` with every table: the name of its file and accessor, its row type, its key fields, and all
/// fields with their kinds. The tables about hosts, images and words are declared here, those about packages in
/// `package_tables.rs`.
macro_rules! every_table {
    ($act:ident) => {
        with_package_tables! {
        $act
        /// A GPU.
        gpus: GpuRow by [name] {
            /// Name that `nvidia-smi` prints.
            name: Str,
            /// Names that users write.
            aliases: Strs,
            /// Compute capability.
            capability: Capability,
            /// Architecture: `Ampere`.
            architecture: Str,
            /// Class.
            class: Variant(GpuClass),
            /// Whether a compat library may be used on it; `None` if no source covers it.
            forward_compat: OptBool,
            /// NVML brands by driver branch; empty if unknown.
            brands: Brands,
            /// Evidence for the brands.
            brand_how: HowElseInferred,
            /// Oldest driver branch that lists it; for warnings only, not for errors.
            first_branch: OptU32,
            /// Newest driver branch that supports it, if support has ended.
            last_branch: OptU32,
            /// Whether it exists only in arm64 hosts.
            arm64_host: Flag,
        }
        /// A driver branch.
        driver_branches: BranchRow by [branch] {
            /// Number of the branch: 535.
            branch: U32,
            /// Newest CUDA version that it supports, as `nvidia-smi` prints it.
            cuda: Cuda,
            /// CUDA version of the releases in `other_releases`, which differ from the rest of the branch.
            other_cuda: OptCuda,
            /// Releases with `other_cuda`.
            other_releases: Drivers,
            /// Known releases, oldest first.
            releases: Drivers,
            /// Date of the first release; `None` if unknown.
            released: OptDay,
            /// Last day of support; `None` if unknown.
            end_of_support: OptDay,
        }
        /// Compute capabilities that drivers started and stopped supporting together.
        architectures: ArchitectureRow by [name, capabilities] {
            /// Architecture: `Ampere`.
            name: Str,
            /// Compute capabilities.
            capabilities: Capabilities,
            /// First CUDA version, which determines the first driver branch.
            first_toolkit: Cuda,
            /// Last CUDA version, if support has ended.
            last_toolkit: OptCuda,
            /// Last driver branch, if support has ended.
            last_branch: OptU32,
            /// Whether any GPU of these compute capabilities supports MIG.
            mig: Flag,
        }
        /// A CUDA toolkit release.
        toolkits: ToolkitRow by [version] {
            /// Version: `12.4.1`.
            version: Cuda,
            /// Minimum driver for all features.
            min_driver_full: OptDriver,
            /// Driver in the installer for x86-64.
            bundled_driver: OptDriver,
            /// Release date; the first of the month if only that is known.
            released: OptDay,
        }
        /// The PTX version and the compilation targets of a CUDA minor version.
        target_sets: TargetSetRow by [cuda] {
            /// CUDA minor version: `12.4`.
            cuda: Minor,
            /// PTX ISA version that the toolkit generates and its driver accepts.
            ptx_isa: Cuda,
            /// Targets of ptxas.
            targets: Targets,
        }
        /// The minimum driver for minor version compatibility of a CUDA major version.
        minor_compat: MinorCompatRow by [cuda_major] {
            /// CUDA major version: 12.
            cuda_major: U32,
            /// Minimum driver: 525.60.13.
            min_driver: Driver,
            /// Driver branch of which the compatibility guide accepts every release, if it names a whole branch.
            from_branch: OptU32,
        }
        /// A compat package, such as `cuda-compat-12-4`.
        compat_packages: CompatRow by [cuda] {
            /// CUDA minor version: `12.4`.
            cuda: Minor,
            /// Driver branch of its libcuda.
            branch: U32,
            /// Known libcuda versions, oldest first.
            versions: Drivers,
            /// Kernel driver branches that requirements of images or ELF notes list as compatible.
            base_branches: U32s,
            /// Whether those branches are from the ELF note of the library.
            noted: Flag,
        }
        /// Release date of a driver whose libcuda is in a compat package.
        driver_releases: DriverReleaseRow by [version] {
            /// Driver version: `460.106.00`.
            version: Driver,
            /// Release date.
            released: Day,
        }
        /// A driver branch whose Ubuntu packages are now empty and depend on another branch.
        transitional_driver_packages: TransitionalDriverRow by [name] {
            /// Branch in the package names: `455`, `510-server`.
            name: Str,
            /// Branches of the packages that they depend on, by Ubuntu release.
            into: U32s,
        }
        /// An entry of the forward compatibility matrix.
        forward_matrix: ForwardRow by [cuda, base_branch] {
            /// CUDA version of the compat package.
            cuda: Minor,
            /// Kernel driver branch.
            base_branch: U32,
            /// Whether the combination is supported.
            supported: Bool,
        }
        /// A value of `NVIDIA_REQUIRE_CUDA` in CUDA base images.
        requirements: RequireRow by [id] {
            /// Id by which the rows of `cuda_recipes` refer to it.
            id: Str,
            /// The value of `NVIDIA_REQUIRE_CUDA`.
            value: Str,
        }
        /// The base images of one CUDA version: `nvidia/cuda:<version>-*`.
        cuda_images: CudaImageRow by [version] {
            /// Version in the tag: `11.2.2`.
            version: Str,
            /// Value of `CUDA_VERSION`.
            cuda_version: OptStr,
            /// Flavours: `base`, `runtime`, `devel`.
            flavours: Strs,
            /// Operating systems in its tags (`ubuntu20.04`), including retired ones; empty if unknown.
            os: Strs,
            /// Installed compat package, if any: `cuda-compat-11-2`.
            compat_package: OptStr,
            /// Value of `LD_LIBRARY_PATH`.
            ld_library_path: Str,
            /// Value of `NVIDIA_VISIBLE_DEVICES`.
            visible_devices: Str,
            /// Value of `NVIDIA_DRIVER_CAPABILITIES`.
            driver_capabilities: Str,
        }
        /// Content of the Dockerfiles of a CUDA base image in a period, for some operating systems and architectures.
        cuda_recipes: CudaRecipeRow by [version, require, compat, first, until] {
            /// Version in the tag: `11.2.2`, or `11.0` for tags without a patch version.
            version: Str,
            /// Id of a `RequireRow`; `None` if the image does not set `NVIDIA_REQUIRE_CUDA`.
            require: OptStr,
            /// Whether a compat package is installed; `None` if unknown.
            compat: OptBool,
            /// First day of the period; `None` if there was no earlier content.
            first: OptDay,
            /// First day after the period; `None` if it has not ended.
            until: OptDay,
            /// Architectures by operating system.
            arches: Pairs,
        }
        /// A flavour of CUDA base images: `base`, `runtime`, `devel`.
        cuda_flavours: CudaFlavourRow by [name] {
            /// Name in the tag.
            name: Str,
            /// Flavours whose libraries it includes.
            holds: Strs,
            /// Whether it contains a compiler for GPU code.
            compiler: Flag,
        }
        /// A framework image whose tag determines its CUDA version.
        framework_images: FrameworkImageRow by [repository, tag] {
            /// Repository in short form, as `docker pull` prints it: `nvcr.io/nvidia/pytorch`, `pytorch/pytorch`.
            repository: Str,
            /// Tag.
            tag: Str,
            /// CUDA version in the image.
            cuda: Cuda,
            /// torch version in the image; `None` if unknown.
            torch: OptVersion,
            /// Conda channel that torch is from; `None` for the wheel.
            torch_channel: OptStr,
            /// Version of the CUDA base image that it is built on and whose requirement it inherits: `12.4.1`; `None` if
            /// unknown.
            base: OptStr,
            /// Whether its Dockerfile is known to leave the compat directory and library search path of the base unchanged,
            /// except for `search_path` and `ld_conf`.
            untouched: Flag,
            /// Directories that its Dockerfile puts before the library search path of the base.
            search_path: OptStr,
            /// Files that its Dockerfile writes to `/etc/ld.so.conf.d`, each with the directory in it.
            ld_conf: Pairs,
            /// Driver version of the libcuda in the compat directory of a monthly image, if it differs from that of the
            /// month.
            compat: OptDriver,
            /// Packages and versions that the tag determines; except for `compiled`, they are those of the default Python
            /// index.
            packages: VersionByName,
            /// The packages in `packages` that were compiled for the image, with other GPU code than the wheels of the index.
            compiled: Strs,
            /// Cubin targets of the compiled packages on amd64; empty together with `ptx` if unknown.
            sass: Targets,
            /// PTX targets of the compiled packages on amd64.
            ptx: Targets,
            /// Libraries that the packages in `brings` need and the image does not contain.
            lacks: Strs,
            /// Architectures of the image; empty if unknown.
            arches: Strs,
        }
        /// The environment variables that the images of a repository set.
        base_variables: BaseVariablesRow by [repository] {
            /// Repository in short form.
            repository: Str,
            /// Names of the variables; a final `*` marks a prefix.
            names: Strs,
        }
        /// The package installers that are missing from the images of a repository.
        image_installers: ImageInstallersRow by [repository] {
            /// Repository in short form.
            repository: Str,
            /// Missing installers: `pip`, `conda`, `mamba`, `uv`.
            lacks: Strs,
            /// Directories in `PATH` of the images, in addition to the usual ones.
            path: Strs,
        }
        /// Images without any NVIDIA content, such as official operating system and language images.
        plain_images: PlainImageRow by [repository] {
            /// Repository in short form: `python`, `debian`; a final `*` marks a prefix.
            repository: Str,
            /// Whether it contains torch for GPUs of another vendor.
            torch: Flag,
        }
        /// A name pattern that shows whether an image is for GPUs.
        gpu_images: GpuImageRow by [name] {
            /// Repository prefix, `nvcr.io/nim/*`, or a word of the tag: `:gpu`, or `:cu#` for `cu` and digits.
            name: Str,
            /// Whether such images contain no CUDA.
            without: Flag,
        }
        /// A name pattern which shows that an image is for a processor other than an NVIDIA GPU.
        other_processors: OtherProcessorRow by [kind, name] {
            /// Kind of name: `package`, `word` or `phrase`.
            kind: Str,
            /// The name; a final `*` marks a prefix.
            name: Str,
            /// The processor: `the CPU`, `AWS Neuron`.
            processor: Str,
            /// Whether the word also counts in the name of a repository.
            repository: Flag,
            /// Whether the word counts in a tag of any repository.
            any_tag: Flag,
        }
        /// The architectures of a family of images.
        image_arches: ImageArchesRow by [repository, word, from] {
            /// Repository in short form; a final `*` marks a prefix.
            repository: Str,
            /// Word of the tags that it applies to; `None` for all tags.
            word: OptStr,
            /// First month in a tag that it applies to, `25.08`; `None` for tags with or without a month.
            from: OptStr,
            /// Architectures: `arm64`.
            arches: Strs,
        }
        /// Behaviour of a range of NVIDIA Container Toolkit versions.
        container_toolkits: ContainerToolkitRow by [from] {
            /// First version.
            from: Cuda,
            /// First version with other behaviour; `None` for the newest range.
            before: OptCuda,
            /// Compat library selection in legacy mode with only the hook (`docker run --gpus`).
            legacy_hook: Variant(CompatSelection),
            /// Compat library selection in legacy mode with the nvidia runtime.
            legacy_runtime: Variant(CompatSelection),
            /// Compat library selection in all CDI modes.
            cdi: Variant(CompatSelection),
            /// Compat library selection in csv mode (Tegra).
            csv: Variant(CompatSelection),
            /// Whether libnvidia-container follows an absolute symbolic link to the compat directory.
            follows_absolute_link: Bool,
            /// Whether the hook has no effect in an image without `/etc/ld.so.cache`.
            hook_needs_cache: Flag,
            /// Whether CDI keeps the order of library directories that the image lists itself.
            keeps_listed_directories: Flag,
            /// Mode selected by `auto` on a discrete GPU: `legacy`, `jit-cdi`.
            auto_mode: Str,
            /// Representative version of the range, for pools without a declared version.
            sample: Cuda,
            /// Release date of the first version; `None` if unknown.
            released: OptDay,
        }
        /// Release date of an NVIDIA Container Toolkit version.
        container_toolkit_days: ToolkitDayRow by [version] {
            /// Version.
            version: Cuda,
            /// Release date.
            released: Day,
        }
        /// A CUDA error code.
        errors: ErrorRow by [code] {
            /// Number: 804.
            code: U16,
            /// Name: `cudaErrorCompatNotSupportedOnDevice`.
            name: Str,
            /// Message that CUDA prints.
            text: Str,
            /// Number in older runtimes, if it was different.
            was: OptU32,
            /// First runtime with the present number.
            was_before: OptCuda,
            /// Name in the driver API: `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE`.
            driver_name: OptStr,
            /// Rule pages about outcomes with this error, most likely first.
            rules: Strs,
            /// Meaning, if no rule page explains it.
            means: OptStr,
        }
        /// An alias that users write instead of a valid value.
        value_aliases: ValueAliasRow by [word] {
            /// The alias in lower case: `k8s`.
            word: Str,
            /// Valid values that it may mean, most likely first: `kubernetes`.
            means: Strs,
        }
        /// The explanation of a verdict or route of a report.
        verdict_words: VerdictWordRow by [word] {
            /// Its name in JSON: `minor-version`.
            word: Str,
            /// Other spellings, in lower case.
            other: Strs,
            /// Meaning, in one sentence without its full stop.
            means: Str,
            /// Rule pages about it, most likely first.
            rules: Strs,
        }
        /// The explanation of a launch method of the fleet file.
        launch_methods: LaunchWordRow by [word] {
            /// Its name in a fleet file: `nvidia-runtime`.
            word: Str,
            /// Other spellings, in lower case.
            other: Strs,
            /// How GPUs are requested, in one sentence without its full stop.
            means: Str,
            /// Rule pages about it, most likely first.
            rules: Strs,
        }
        /// A log message, and the rule pages that explain it.
        messages: MessageRow by [says] {
            /// Parts of the message, in order.
            says: Strs,
            /// Rule pages, most likely first.
            rules: Strs,
            /// Meaning, if no rule page explains it.
            means: OptStr,
        }
        /// A build command that depends on the GPU or driver of the build machine.
        build_probes: BuildProbeRow by [what, program, words] {
            /// What it detects: `gpu`, `code` or `variant`.
            what: Str,
            /// Prefix of the program name.
            program: Str,
            /// Parts that the command must contain, all of them.
            words: Strs,
            /// Environment variable with the same effect.
            variable: OptStr,
            /// Value of that variable.
            value: OptStr,
            /// Part that disables the detection.
            without: OptStr,
            /// Variable that disables the detection.
            unless: OptStr,
        }
        /// Libraries and tools of CUDA itself, whose GPU code does not decide whether an image starts.
        cuda_parts: CudaPartRow by [place] {
            /// Part of the path if it contains `/`, otherwise a prefix of the file name.
            place: Str,
        }
        /// CUDA upgrade packages that run on a Jetson release.
        jetson_upgrades: JetsonUpgradeRow by [base] {
            /// CUDA version of the Jetson release.
            base: Cuda,
            /// CUDA versions of the upgrade packages that run on it.
            compatible: Cudas,
        }
        /// A Jetson release.
        jetson_releases: JetsonReleaseRow by [driver] {
            /// Prefix of the version that users write as its driver version: `36.4` of Jetson Linux, `540.4` of NVML.
            driver: Driver,
            /// Compute capabilities of its modules.
            capabilities: Capabilities,
            /// Its CUDA version.
            cuda: Cuda,
            /// Whether it has NVML.
            nvml: Flag,
        }
        /// A range of Windows driver versions of one driver branch.
        windows_drivers: WindowsDriverRow by [from] {
            /// First component of the oldest version: 451.
            from: U32,
            /// First component of the first version after the range.
            before: U32,
            /// Driver branch.
            branch: U32,
        }
        /// Common properties of the images of a repository.
        base_families: BaseFamilyRow by [repository] {
            /// Repository in short form: `nvcr.io/nvidia/pytorch`.
            repository: Str,
            /// Whether its tags are CUDA base images that begin with the CUDA version.
            cuda_base: Flag,
            /// Whether the tables list every operating system and flavour of its tags.
            listed: Flag,
            /// Whether its images add unknown content to a CUDA base image.
            unread: Flag,
            /// Whether its tags begin with the month of an `NgcReleaseRow`.
            monthly: Flag,
            /// Whether its images are only bases to build on, without a program of their own.
            bare: Flag,
            /// Pattern of the usual monthly tag, `{month}-py3`, if every month with its own torch has it.
            month_tag: OptStr,
            /// Words of tags whose content differs from that of their month.
            other_months: Strs,
            /// Whether a compat package is in `/usr/local/cuda/compat`.
            compat: OptBool,
            /// Subdirectory with the compat libraries, if they are not in that directory itself; container toolkits do not
            /// find them there.
            compat_folder: OptStr,
            /// Entrypoint that tests the compat library and otherwise uses the libcuda of the host.
            compat_probe: OptStr,
            /// First month in which the entrypoint is known to also detect GPUs that reject the library.
            probe_from: OptStr,
            /// Whether its images contain the torch of their month.
            torch: Flag,
            /// Variables that every image sets.
            env: Pairs,
        }
        /// One monthly release of NVIDIA's framework containers.
        ngc_releases: NgcReleaseRow by [month] {
            /// Month: `23.10`.
            month: Str,
            /// CUDA version in the images.
            cuda: Cuda,
            /// Driver version of the libcuda in the compat directory; `None` if no source has the full version.
            compat: OptDriver,
            /// torch version of the `PyTorch` container; `None` if unknown.
            torch: OptVersion,
        }
        /// The lowest compute capability that the program of an image supports, from one month on.
        code_floors: CodeFloorRow by [repository, from] {
            /// Repository in short form.
            repository: Str,
            /// First month.
            from: Str,
            /// First month with another value; `None` if it still applies.
            before: OptStr,
            /// The lowest compute capability.
            capability: Capability,
            /// The lowest compute capability with confirmed support, if it is higher; support in between is unknown.
            sure: OptCapability,
        }
        /// A container engine that uses CDI for GPUs by default.
        engines: EngineRow by [name] {
            /// Name: `docker`.
            name: Str,
            /// First version that uses CDI specifications of the host for `--gpus`.
            cdi_from: Cuda,
            /// Release date of that version; `None` if unknown.
            cdi_released: OptDay,
        }
        /// The compute capabilities of a family-specific target.
        code_families: CodeFamilyRow by [capability] {
            /// Compute capability in the target: 10.0 for `sm_100f`.
            capability: Capability,
            /// Compute capabilities that run it.
            members: Capabilities,
        }
        /// The number of a GPU brand in NVML and in the ELF notes of compat libraries.
        brands: BrandNumberRow by [name] {
            /// Name in lower case.
            name: Str,
            /// Number of the brand.
            number: U32,
            /// Whether the ELF notes of compat libraries allow it.
            compat: Bool,
            /// Whether older versions of libnvidia-container report it as `Unknown`.
            later: Flag,
        }
        /// A compute capability of Tegra modules, which is not binary compatible with any other.
        tegra_capabilities: TegraRow by [capability] {
            /// Compute capability.
            capability: Capability,
            /// Compat directory specific to these modules.
            compat_root: OptStr,
            /// Version in the file name of its libcuda, if it differs from the driver version.
            libcuda: OptDriver,
        }
        /// An operating system, by its name in image tags.
        operating_systems: OsRow by [name] {
            /// Prefix of a word of a tag (`ubuntu`), or a repository.
            name: Str,
            /// Whether it has the library directories of Debian.
            debian: Bool,
            /// Whether its dynamic loader has no cache.
            cacheless: Flag,
            /// Whether its C library is musl, for which no framework has wheels.
            musl: Flag,
            /// Commands that install its Python, if they differ from those of Debian; empty if unknown.
            python: Strs,
            /// Word in the tags of its minimal variant, which has another package manager.
            lean: OptStr,
            /// Commands that install Python in the minimal variant; empty if unknown.
            lean_python: Strs,
        }
        /// A driver library that the container toolkit mounts for a driver capability.
        driver_sonames: DriverSonameRow by [soname] {
            /// Soname: `libnvcuvid.so.1`.
            soname: Str,
            /// Driver capability: `video`.
            capability: Str,
        }
        /// The libraries in a flavour of CUDA base images.
        toolkit_libraries: ToolkitLibraryRow by [cuda_major, flavour, from] {
            /// CUDA major version.
            cuda_major: U32,
            /// Flavour in the tag: `base`, `runtime`, `devel`, `cudnn8`.
            flavour: Str,
            /// First CUDA version; `None` for all of the major version.
            from: OptCuda,
            /// First CUDA version without these libraries; `None` if there is none.
            before: OptCuda,
            /// Libraries that it adds to the smaller flavours.
            sonames: Strs,
        }
        /// Directories of CUDA images with the stub of libcuda.
        stub_directories: StubDirectoryRow by [flavour, arch] {
            /// Flavour in the tag: `devel`.
            flavour: Str,
            /// Architecture: `amd64`.
            arch: Str,
            /// Directories of the toolkit, the real one before links to it: `lib64/stubs`.
            directories: Strs,
        }
        /// A tag pattern of a framework container, and the months known to have such a tag.
        month_tags: MonthTagRow by [repository, tag] {
            /// Repository in short form: `nvcr.io/nvidia/tritonserver`.
            repository: Str,
            /// Pattern: `{month}-py3`; `{cuda}` is the CUDA version of the month, `12.8`.
            tag: Str,
            /// Months of `NgcReleaseRow`.
            months: Strs,
        }
        /// The cuDNN words in tags of CUDA base images of one version.
        cudnn_tags: CudnnTagRow by [version] {
            /// Version in the tag: `11.2.2`.
            version: Str,
            /// cuDNN words: `cudnn8`, `cudnn`.
            words: Strs,
        }
        /// The Python version of an image or operating system.
        image_pythons: ImagePythonRow by [name, version] {
            /// Name: `ubuntu`, `python`.
            name: Str,
            /// Version in the tag: `22.04`, `3.11`.
            version: Str,
            /// Python version.
            python: Str,
        }
        /// Commands that install packages.
        installer_commands: InstallerCommandRow by [words] {
            /// The program and its subcommands; the longest row that a command begins with applies.
            words: Strs,
            /// Whether a version may follow the name of the program: `pip3.11`.
            versioned: Flag,
            /// How the arguments after these words are read.
            syntax: Variant(InstallerSyntax),
            /// Whether it changes only files of packages, and writes no lock file and no project.
            only_packages: Flag,
            /// Requirements that it installs itself, with their markers.
            seeds: Strs,
        }
        /// Programs with the same effect on files, which their options and operands determine.
        file_tools: FileToolRow by [programs, subcommand] {
            /// Names of the programs.
            programs: Strs,
            /// The first operands: `s3 cp`. Without any, the row applies to the program as a whole.
            subcommand: Strs,
            /// What they do.
            effect: Variant(ToolEffect),
            /// Whether the first operand is a script, unless an option contains it.
            script_first: Flag,
        }
        /// Options of such programs. Options that are not listed have no value and no effect.
        file_tool_options: FileToolOptionRow by [programs, options] {
            /// Names of the programs.
            programs: Strs,
            /// Spellings of the options: `-t`, `--target-directory`.
            options: Strs,
            /// How the value is written.
            value: Variant(OptionValue),
            /// What they mean.
            meaning: Variant(OptionMeaning),
        }
        /// First version with a `ToolkitChange`.
        toolkit_changes: ToolkitChangeRow by [change] {
            /// The change.
            change: Variant(ToolkitChange),
            /// First version with it.
            from: Cuda,
            /// Whether the version is that of libnvidia-container.
            library: Flag,
        }
        /// A library that newer Windows drivers need under WSL and only newer container toolkits mount.
        wsl_libraries: WslLibraryRow by [library] {
            /// Name of the library.
            library: Str,
            /// First component of the first Windows driver version that needs it: 555.
            windows_from: U32,
            /// First container toolkit that mounts it.
            toolkit_from: Cuda,
            /// Release date of that toolkit.
            toolkit_released: Day,
        }
        /// A machine type of a cloud provider.
        cloud_instances: CloudInstanceRow by [name] {
            /// Name that the provider uses: `g5.xlarge`.
            name: Str,
            /// Provider: `aws`, `azure`, `gcp`.
            provider: Str,
            /// Its GPU, by name in the table `gpus`.
            gpu: Str,
            /// Number of GPUs; `None` if it has a fraction of one.
            count: OptU32,
        }
        /// The MIG profiles of a GPU.
        mig_profiles: MigProfileRow by [gpu] {
            /// Name in the table `gpus`.
            gpu: Str,
            /// Profiles without additions such as `+me`: `1g.10gb`.
            profiles: Strs,
        }
        /// A name of build stages that are not shipped.
        stage_names: StageNameRow by [word] {
            /// Last word of the stage name in lower case: `test`.
            word: Str,
            /// Purpose of such a stage: `tests`.
            purpose: Str,
        }
        /// A program that installs the driver of its node.
        driver_programs: DriverProgramRow by [program] {
            /// Name of the program: `nvidia-driver`.
            program: Str,
        }
        /// A program that queries GPUs through NVML and does not call CUDA.
        monitoring_programs: MonitoringProgramRow by [program] {
            /// Name of the program: `nvidia-smi`.
            program: Str,
        }
        /// A tag of a base image family that was withdrawn from its registry.
        withdrawn_tags: WithdrawnRow by [repository, version] {
            /// Repository: `nvidia/cuda`.
            repository: Str,
            /// Version in the withdrawn tags: `11.4.0`, `10.2`.
            version: Str,
            /// Replacement version, if a later patch of the minor version still exists.
            instead: OptStr,
        }
        }
    };
}
