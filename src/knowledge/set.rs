//! The set of all tables, and the accessors of single tables.

use crate::knowledge::rows::RowInfo;
use crate::knowledge::{Knowledge, rows};

/// A row of a knowledge table.
pub(crate) trait Row: Copy + 'static {
    /// Returns the table, key and source of the row.
    fn info(&self) -> &RowInfo;
}

macro_rules! set {
    ($($name:ident: $row:ident by [$($key:ident),*] { $($field:ident: $kind:expr),* $(,)? })*) => {
        /// One set of tables, each sorted by its key.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Tables {
            $(pub(crate) $name: &'static [rows::$row],)*
        }

        impl Tables {
            /// The provenance of every row, table by table.
            pub(crate) fn infos(&self) -> Vec<&'static RowInfo> {
                let mut infos = Vec::new();
                $(infos.extend(self.$name.iter().map(|row| &row.info));)*
                infos
            }
        }

        $(impl Row for rows::$row {
            fn info(&self) -> &RowInfo {
                &self.info
            }
        })*
    };
}

every_table!(set);

macro_rules! whole_tables {
    ($($(#[$doc:meta])* $name:ident: $row:ident = $table:ident;)*) => {
        impl Knowledge {
            $($(#[$doc])*
            pub const fn $name(self) -> &'static [rows::$row] {
                self.tables().$table
            })*
        }
    };
}

whole_tables! {
    /// Every GPU.
    gpus: GpuRow = gpus;
    /// Every machine type of a cloud.
    cloud_instances: CloudInstanceRow = cloud_instances;
    /// Every driver branch, oldest first.
    branches: BranchRow = driver_branches;
    /// Every architecture row.
    architectures: ArchitectureRow = architectures;
    /// Every toolkit release, oldest first.
    toolkits: ToolkitRow = toolkits;
    /// PTX versions and targets of every toolkit minor, oldest first.
    target_sets: TargetSetRow = target_sets;
    /// Driver floors of CUDA majors.
    minor_compats: MinorCompatRow = minor_compat;
    /// Every compat package, oldest first.
    compat_packages: CompatRow = compat_packages;
    /// Every driver of a compat package, oldest first.
    driver_releases: DriverReleaseRow = driver_releases;
    /// Branches whose packages of Ubuntu bring another branch.
    driver_moves: DriverMoveRow = driver_moves;
    /// The forward compatibility matrix.
    forward_matrix: ForwardRow = forward_matrix;
    /// Every requirement string.
    requirements: RequireRow = requirements;
    /// Every CUDA base image version.
    cuda_images: CudaImageRow = cuda_images;
    /// What the recipes of CUDA base images said, by version, oldest first.
    cuda_recipes: CudaRecipeRow = cuda_recipes;
    /// Every flavour of CUDA base images.
    cuda_flavours: CudaFlavourRow = cuda_flavours;
    /// Every package that may bring a compiler.
    compiler_packages: CompilerPackageRow = compiler_packages;
    /// Every framework image.
    framework_images: FrameworkImageRow = framework_images;
    /// Every repository of which all variables are known.
    base_variables: BaseVariablesRow = base_variables;
    /// Every script that installs one tool alone.
    tool_scripts: ToolScriptRow = tool_scripts;
    /// Every repository whose images lack installers of packages.
    image_installers_rows: ImageInstallersRow = image_installers;
    /// Every system package that brings no installer of packages for Python.
    packages_without_installer: PackageWithoutInstallerRow = packages_without_installer;
    /// Every image family without NVIDIA content.
    plain_images: PlainImageRow = plain_images;
    /// Every name that says that an image is there for GPUs.
    gpu_images: GpuImageRow = gpu_images;
    /// Every name that states another processor than an NVIDIA GPU.
    other_processors: OtherProcessorRow = other_processors;
    /// Every family of images that is built for some architectures alone.
    image_arches_rows: ImageArchesRow = image_arches;
    /// Every torch release, oldest first.
    torch_releases: TorchRow = torch_releases;
    /// Every torch build.
    torch_builds: TorchBuildRow = torch_builds;
    /// Every build of another framework.
    framework_builds: FrameworkBuildRow = framework_builds;
    /// Every wheel for arm64 of another framework whose GPU code is known.
    arm64_builds: Arm64BuildRow = arm64_builds;
    /// Every range of container toolkit versions, oldest first.
    container_toolkits: ContainerToolkitRow = container_toolkits;
    /// Every release of the container toolkit, oldest first.
    container_toolkit_days: ToolkitDayRow = container_toolkit_days;
    /// Every change of the container toolkit.
    toolkit_changes: ToolkitChangeRow = toolkit_changes;
    /// Every library that newer Windows drivers ask for and older container toolkits do not bring.
    wsl_libraries: WslLibraryRow = wsl_libraries;
    /// Every error code.
    errors: ErrorRow = errors;
    /// Every line of a log that a page tells of.
    messages: MessageRow = messages;
    /// Every word of a verdict or a route.
    verdict_words: VerdictWordRow = verdict_words;
    /// Every launch method.
    launch_methods: LaunchWordRow = launch_methods;
    /// Every word that people write for a value of imagelint.
    value_aliases: ValueAliasRow = value_aliases;
    /// Every way in which a command asks the machine that builds.
    build_asks: BuildAskRow = build_asks;
    /// Every library that a component cannot do without.
    code_libraries: CodeLibraryRow = code_libraries;
    /// Every folder or module whose name is not that of its component.
    code_owners: CodeOwnerRow = code_owners;
    /// Where CUDA's own libraries and tools lie.
    cuda_parts: CudaPartRow = cuda_parts;
    /// Every Jetson release with its CUDA upgrades.
    jetson_upgrades: JetsonUpgradeRow = jetson_upgrades;
    /// Every release of the Jetson modules.
    jetson_releases: JetsonReleaseRow = jetson_releases;
    /// Every series of Windows drivers.
    windows_drivers: WindowsDriverRow = windows_drivers;
    /// Every operating system.
    operating_systems: OsRow = operating_systems;
    /// Every library that comes with the driver.
    driver_sonames: DriverSonameRow = driver_sonames;
    /// Every package with CUDA libraries.
    library_packages: LibraryPackageRow = library_packages;
    /// Every word that speaks for CUDA libraries in a package.
    library_carriers: LibraryCarrierRow = library_carriers;
    /// Every distribution that brings no CUDA library.
    library_free: LibraryFreeRow = library_free;
    /// Which of the packages that go with one torch each others bring.
    companion_packages: CompanionPackageRow = companion_packages;
    /// Pages of wheels that list no torch.
    own_pages: OwnPageRow = own_pages;
    /// Every distribution for processors alone.
    processor_packages: ProcessorPackageRow = processor_packages;
    /// Every distribution that asks for libraries from outside.
    library_needs: LibraryNeedsRow = library_needs;
    /// Every library that opens parts of itself.
    library_parts: LibraryPartsRow = library_parts;
    /// Libraries of CUDA base images by major and flavour.
    toolkit_libraries: ToolkitLibraryRow = toolkit_libraries;
    /// Where CUDA images keep the stub of libcuda.
    stub_directories: StubDirectoryRow = stub_directories;
    /// What the images of a repository have in common.
    base_families: BaseFamilyRow = base_families;
    /// Every month of NVIDIA's framework containers, oldest first.
    ngc_releases: NgcReleaseRow = ngc_releases;
    /// The lowest compute capabilities that programs of images take.
    code_floors: CodeFloorRow = code_floors;
    /// The lowest compute capabilities that releases of packages take.
    package_floors: PackageFloorRow = package_floors;
    /// Every distribution with GPU code.
    frameworks: FrameworkRow = frameworks;
    /// Every package with driver libraries.
    driver_packages: DriverPackageRow = driver_packages;
    /// Packages that bring something else in one repository than elsewhere.
    repository_packages: RepositoryPackageRow = repository_packages;
    /// Every engine that prefers CDI.
    engines: EngineRow = engines;
    /// Every family of family-specific targets.
    code_families: CodeFamilyRow = code_families;
    /// Every brand number.
    brands: BrandNumberRow = brands;
    /// Every Tegra capability.
    tegra_capabilities: TegraRow = tegra_capabilities;
    /// Tags of framework containers and the months that have them.
    month_tags: MonthTagRow = month_tags;
    /// Words for cuDNN in tags of CUDA base images.
    cudnn_tags: CudnnTagRow = cudnn_tags;
    /// Where builds for each CUDA version lie.
    build_pages: BuildPageRow = build_pages;
    /// What newest releases ask of other packages.
    package_asks: PackageAskRow = package_asks;
    /// What releases that are not the newest ask of other packages.
    release_asks: ReleaseAskRow = release_asks;
    /// Every name of GPUs that build tools of torch know.
    torch_arch_names: TorchArchNameRow = torch_arch_names;
    /// Which torch other distributions bring.
    torch_pins: TorchPinRow = torch_pins;
    /// Which torch releases a version of Python can have.
    torch_pythons: TorchPythonRow = torch_pythons;
    /// For which Pythons distributions with GPU code have wheels.
    wheel_pythons: WheelPythonRow = wheel_pythons;
    /// For which processors and Pythons more distributions have wheels.
    platform_wheels: PlatformWheelRow = platform_wheels;
    /// The Python of images and distributions.
    image_pythons: ImagePythonRow = image_pythons;
    /// Packages that are compiled while the image is built.
    cuda_extensions: CudaExtensionRow = cuda_extensions;
    /// Every distribution with a library of the CUDA toolkit.
    library_wheels: LibraryWheelRow = library_wheels;
    /// What packages and their extras bring along.
    brought_packages: BroughtRow = brought_packages;
    /// Every distribution whose build an index of its own decides.
    build_indexes: BuildIndexRow = build_indexes;
    /// Every conda package that chooses a build.
    conda_variants: CondaVariantRow = conda_variants;
    /// The GPU code of every torch build of a conda channel.
    conda_builds: CondaBuildRow = conda_builds;
    /// How names of distributions say their CUDA.
    cuda_names: CudaNameRow = cuda_names;
    /// Every distribution whose versions say their CUDA.
    cuda_locals: CudaLocalRow = cuda_locals;
    /// Every distribution that calls CUDA and does not say which.
    gpu_packages: GpuPackageRow = gpu_packages;
    /// Every system package with a CUDA runtime.
    runtime_packages: RuntimePackageRow = runtime_packages;
    /// Distributions with a library for each of several CUDA versions.
    bundled_variants: BundledRow = bundled_variants;
    /// The assemblers of every Triton release, oldest first.
    triton_compilers: TritonRow = triton_compilers;
    /// How GPUs can be divided.
    mig_profiles: MigProfileRow = mig_profiles;
    /// Programs that install the driver of their node.
    driver_programs: DriverProgramRow = driver_programs;
    /// Words for stages that do not ship.
    stage_names: StageNameRow = stage_names;
    /// Files in which distributions say what they were built with.
    build_files: BuildFileRow = build_files;
    /// Every withdrawn tag.
    withdrawn_tags: WithdrawnRow = withdrawn_tags;
    /// Every extra of a release that is of no avail.
    unmet_extras: UnmetExtraRow = unmet_extras;
}
