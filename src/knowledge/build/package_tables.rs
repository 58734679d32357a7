//! Declarations of the tables about packages, their builds and their libraries; see `tables.rs`.

/// Calls the macro `$act` with the tables of `tables.rs` and of this file.
macro_rules! with_package_tables {
    ($act:ident $($tables:tt)*) => {
        $act! {
        $($tables)*
        /// A package that may contain a compiler for GPU code.
        compiler_packages: CompilerPackageRow by [name] {
            /// Package name, or its prefix.
            name: Str,
            /// Whether `name` is a prefix.
            prefix: Flag,
        }
        /// A script on the network that installs one tool and nothing for GPUs.
        tool_scripts: ToolScriptRow by [address] {
            /// Prefix of its URL, without the scheme.
            address: Str,
        }
        /// A system package that installs none of pip, conda, mamba and uv except the listed ones, including its
        /// dependencies.
        packages_without_installer: PackageWithoutInstallerRow by [package] {
            /// Package name.
            package: Str,
            /// Whether it also applies to the package of that name in RPM distributions and Alpine.
            every_manager: Flag,
            /// The installers that it installs: `pip`.
            installs: Strs,
        }
        /// A torch release.
        torch_releases: TorchRow by [version] {
            /// Version: `2.6.0`.
            version: Version,
            /// Variant on the default index by architecture: `cu124`, `cpu`.
            default_variant: StrByArch,
            /// All CUDA variants.
            variants: Strs,
            /// Release date; `None` if unknown.
            released: OptDay,
            /// Whether it is only on a separate page, and never selected from an ordinary index.
            apart: Flag,
        }
        /// The GPU code of one torch build.
        torch_builds: TorchBuildRow by [version, variant, arch] {
            /// Version: `2.6.0`.
            version: Version,
            /// Variant: `cu124`, `cpu`.
            variant: Str,
            /// Architecture: `amd64`, `arm64`.
            arch: Str,
            /// Cubin targets that nearly all fatbin containers include.
            sass: Targets,
            /// PTX targets.
            ptx: Targets,
            /// Whether the wheel version does not include the variant.
            unnamed: Flag,
        }
        /// A release of a framework other than torch, such as TensorFlow, or the GPU code of its wheel for one architecture.
        framework_builds: FrameworkBuildRow by [distribution, version, arch] {
            /// Distribution: `tensorflow`.
            distribution: Str,
            /// Version.
            version: VersionOrAny,
            /// Architecture whose wheel the row is about: `arm64`; `None` for the release, with the code of its amd64 wheel.
            arch: OptStr,
            /// CUDA version that it was built with; `None` for a CPU build, and in a row for one architecture.
            cuda: OptCuda,
            /// Cubin targets; empty if unknown.
            sass: Targets,
            /// PTX targets.
            ptx: Targets,
            /// Whether `sass` and `ptx` are known.
            code_known: Bool,
            /// Date on which the default index received it; `None` if unknown.
            released: OptDay,
            /// Specifier of the torch versions that it was compiled for, if its metadata has no requirement.
            torch: OptRange,
        }
        /// A library with the GPU code of a component.
        code_libraries: CodeLibraryRow by [component, file] {
            /// Component: `torch`.
            component: Str,
            /// Prefix of the file name: `libtorch_cuda.so`.
            file: Str,
            /// Whether the library is optional: it is selected at run time in addition to the required libraries.
            beside: Flag,
        }
        /// A Python package or module whose import name differs from the name of its distribution.
        gpu_code_modules: GpuCodeModuleRow by [import] {
            /// Import name: `flash_attn_2_cuda`.
            import: Str,
            /// Component that it belongs to.
            component: Str,
        }
        /// The lowest compute capability that releases of a distribution support, in every build.
        package_floors: PackageFloorRow by [distribution, from] {
            /// Distribution.
            distribution: Str,
            /// First release.
            from: Version,
            /// First release with another value; `None` if it still applies.
            before: OptVersion,
            /// The lowest compute capability.
            capability: Capability,
        }
        /// A distribution with its own GPU code.
        frameworks: FrameworkRow by [distribution] {
            /// Normalized name of the distribution.
            distribution: Str,
            /// Component that it installs.
            component: Str,
            /// CUDA error code if there is no code for the GPU.
            no_code: U16,
            /// CUDA error code if the PTX cannot be compiled.
            bad_ptx: U16,
            /// Whether one version has builds for several CUDA versions.
            variants: Flag,
            /// Component whose CUDA runtime it uses, if it has none of its own.
            cuda_from: OptStr,
            /// Architectures for which the default index has only CPU builds.
            cpu_on: Strs,
            /// Whether it uses a GPU only if a program requests it.
            optional: Flag,
            /// Whether its project also has CPU builds.
            cpu_builds: Flag,
            /// Whether its wheels with GPU code also run on the CPU, so that they do not imply a GPU.
            for_both: Flag,
            /// Source repositories, `owner/name` in lower case, whose names differ from the distribution.
            repositories: Strs,
            /// Prefixes of the names of its library archives, which are also the directories that they unpack into.
            archives: Strs,
            /// Whether it compiles its code for the present GPU at run time.
            compiles: Flag,
            /// Text before the CUDA version digits in its library names, if it only loads the one for its own CUDA
            /// version.
            per_cuda: OptStr,
            /// Variable that selects another of these libraries.
            per_cuda_unless: OptStr,
            /// Variable assignment, `NAME=value`, that restricts it to the CPU without any CUDA call.
            off_by: OptStr,
            /// Whether `framework_builds` and `wheel_pythons` list all its releases on the default index with a wheel for
            /// amd64.
            all_releases: Flag,
            /// Error of a CPU-only build when a program requests a GPU.
            without_cuda: OptStr,
            /// Reports of its PTX being rejected on GPUs newer than its CUDA version, which should have been compiled.
            ptx_doubted: OptStr,
            /// Module that loads its GPU libraries on import, and fails if a dependency of them is missing.
            imports_code: OptStr,
        }
        /// A package that installs driver libraries into an image.
        driver_packages: DriverPackageRow by [name] {
            /// Package name, or its prefix.
            name: Str,
            /// Whether `name` is a prefix before a driver branch.
            prefix: Flag,
            /// Whether it contains libcuda.
            libcuda: Bool,
            /// Whether it contains only graphics libraries.
            graphics: Flag,
            /// Whether its version is that of a CUDA toolkit, not of a driver.
            toolkit: Flag,
            /// Whether it contains them only through dependencies, whose versions differ from its own.
            through: Flag,
            /// Releases of the distribution, as in image tags, that it applies to; empty for all.
            releases: Strs,
            /// Whether it installs a driver only if it detects a GPU during the image build.
            chance: Flag,
            /// Packages with the tools by which it detects a GPU.
            finds: Strs,
            /// Package name prefix of the toolkit in the same installer, whose name contains both versions.
            beside: OptStr,
            /// Whether the RPM package of that name depends on libnvidia-ml, not on libcuda.
            without_rpm: Flag,
        }
        /// A package that contains something else in one package repository than in others.
        repository_packages: RepositoryPackageRow by [repository, name] {
            /// Part of the URL of the repository.
            repository: Str,
            /// Package name, or its prefix.
            name: Str,
            /// Whether `name` is a prefix before a release.
            prefix: Flag,
            /// Name or prefix of the package with the same content in other repositories.
            installs: Str,
        }
        /// The libraries in a package.
        library_packages: LibraryPackageRow by [name, from] {
            /// Normalized package name.
            name: Str,
            /// First version with these libraries.
            from: OptCuda,
            /// First version with other libraries.
            before: OptCuda,
            /// Sonames: `libcublas.so.12`.
            sonames: Strs,
        }
        /// A word in package names which suggests that the package contains CUDA libraries.
        cuda_package_words: CudaPackageWordRow by [word] {
            /// The word: `cudnn`.
            word: Str,
            /// Prefixes of libraries that the package with exactly this name does not contain.
            without: Strs,
        }
        /// A page of wheels that lists only those of its own project.
        single_project_pages: SingleProjectPageRow by [page] {
            /// Prefix of its URL, without the scheme: `data.pyg.org/whl`.
            page: Str,
        }
        /// A distribution that contains no CUDA library, and neither do its dependencies.
        packages_without_cuda_libraries: PackageWithoutCudaRow by [distribution] {
            /// Distribution.
            distribution: Str,
            /// First version for which this is known; `None` for every version.
            from: OptCuda,
            /// Extras whose dependencies contain no CUDA library either.
            extras: Strs,
        }
        /// A CPU-only distribution, and its counterpart with GPU code.
        processor_packages: ProcessorPackageRow by [distribution] {
            /// The CPU-only distribution.
            distribution: Str,
            /// The distribution with GPU code.
            instead: Str,
            /// Whether both install into the same directory, so that the later install overwrites the earlier one.
            same_folder: Flag,
            /// Whether the name itself specifies the CPU.
            by_name: Flag,
        }
        /// The libraries that a distribution needs from outside its wheel.
        required_libraries: RequiredLibrariesRow by [distribution, from] {
            /// Normalized name.
            distribution: Str,
            /// First version.
            from: Cuda,
            /// First version that needs other libraries.
            before: OptCuda,
            /// Libraries that the dynamic loader resolves.
            needs: Strs,
            /// Libraries that are opened at run time.
            opens: Strs,
            /// Whether the program continues without a GPU if one of `opens` is missing.
            falls_back: Flag,
            /// Whether they are dependencies of the distribution, in whose directories the program searches.
            along: Flag,
            /// Whether the program searches no directory itself, such as those of NVIDIA's wheels, so that only the
            /// dynamic loader finds them.
            by_loader: Flag,
            /// Extra that is required for them to be installed as dependencies.
            with: OptStr,
            /// Builds of the project's own index that need the same libraries: `cu121`.
            builds: Strs,
            /// Builds of that index that contain all the libraries.
            whole: Strs,
        }
        /// A library that opens parts of itself at run time.
        libraries_opened_by_libraries: OpenedLibrariesRow by [soname] {
            /// The library: `libcudnn.so.9`.
            soname: Str,
            /// Sonames of its parts: `libcudnn_ops.so.9`.
            parts: Strs,
        }
        /// The meaning of a GPU name in `TORCH_CUDA_ARCH_LIST`.
        torch_arch_names: TorchArchNameRow by [name, from] {
            /// The name, case-sensitive: `Hopper`.
            name: Str,
            /// First torch release.
            from: Version,
            /// First torch release with another meaning; `None` if it still applies.
            before: OptVersion,
            /// Entries that replace it: `8.0`, `8.6+PTX`.
            targets: Strs,
        }
        /// A requirement of releases of a distribution (Requires-Dist).
        requires_dist: RequiresDistRow by [distribution, extra, package, version, from] {
            /// Normalized name of the distribution: `torchvision`.
            distribution: Str,
            /// Extra that has the requirement; `None` if every install has it.
            extra: OptStr,
            /// Normalized name of the required package: `torch`.
            package: Str,
            /// Release of the distribution. `*` for every release from `from` to `before`; if neither is given and other
            /// rows of the package list releases, for the newest only.
            version: VersionOrAny,
            /// For version `*`: first release with the requirement.
            from: OptVersion,
            /// For version `*`: first release without it.
            before: OptVersion,
            /// PEP 440 specifier; empty if any version is allowed.
            range: Range,
            /// Whether the package has the same version as the distribution.
            same: Flag,
            /// Local part of the version, if the package has the version of the distribution with this local part.
            local: OptStr,
            /// Extra of the package that is required.
            with: OptStr,
            /// Architecture that the requirement is limited to, `amd64`; `None` for all.
            arch: OptStr,
            /// For version `*`: Python versions that the newest release does not support, oldest first, with the specifier of
            /// the newest release that does.
            on_python: RangeByVersion,
            /// For version `*`: older releases, oldest first, each with its specifier; the releases before each of them
            /// require no more than it does.
            older: RangeByVersion,
            /// Day of the release on the default index, if it was not made together with a release of the package.
            released: OptDay,
            /// Whether the metadata has no such requirement; `range` is then the version that it was built for.
            unasked: Flag,
            /// Whether this is the newest release, all of whose versioned requirements are listed.
            newest: Flag,
        }
        /// A distribution whose dependencies on torch companion packages, direct or indirect, are all in `requires_dist`.
        listed_companion_dependencies: ListedCompanionsRow by [distribution] {
            /// Normalized name.
            distribution: Str,
            /// First version for which this is known; `None` for every version.
            from: OptCuda,
        }
        /// A contiguous range of releases of a distribution with wheels for an architecture and a Python version.
        wheel_pythons: WheelPythonRow by [distribution, arch, python, first] {
            /// Normalized name: `tensorflow`.
            distribution: Str,
            /// Architecture: `amd64`, `arm64`; `None` if the range does not depend on it.
            arch: OptStr,
            /// Python version: `3.8`.
            python: Str,
            /// First release of the range.
            first: Version,
            /// Last release, if later ones have no wheels.
            last: OptVersion,
        }
        /// A package whose GPU code is compiled during the image build.
        cuda_extensions: CudaExtensionRow by [distribution] {
            /// Distribution: `flash-attn`.
            distribution: Str,
            /// Last part of its repository URL, and name of the directory of a clone.
            repository: Str,
            /// Environment variable with the targets.
            variable: Str,
            /// Variable that forces compilation even if there is a wheel.
            force: OptStr,
            /// Variable that must be 1 to compile GPU code on a build machine without a GPU.
            switch: OptStr,
            /// Whether every install compiles.
            sdist: Flag,
            /// Whether the variable lists numbers such as `80;90`, which are compiled to cubins only.
            plain: Flag,
            /// Whether the variable contains arguments of cmake.
            cmake: Flag,
            /// Additional output for each number of such a list: `ptx`.
            also: OptStr,
        }
        /// A distribution that contains a library of the CUDA toolkit.
        library_wheels: LibraryWheelRow by [distribution] {
            /// Normalized name: `nvidia-cuda-runtime-cu12`.
            distribution: Str,
            /// Library that it contains: `libcudart`.
            library: Str,
            /// CUDA major version in its name or versions.
            cuda: OptCuda,
            /// Whether its versions begin with the CUDA minor version: 12.4.127 is of CUDA 12.4.
            versioned: Flag,
            /// Whether the library is the CUDA runtime itself.
            runtime: Flag,
        }
        /// A distribution whose builds differ by CUDA version and are selected by the index.
        build_indexes: BuildIndexRow by [distribution] {
            /// Normalized name.
            distribution: Str,
            /// First release with CUDA builds for arm64.
            arm64_from: OptVersion,
            /// Whether each release is built for every CUDA version of the torch release that it requires.
            with_torch: Flag,
            /// Source repository, if it differs from the name: `pytorch/vision`.
            repository: OptStr,
            /// URL paths of its own indexes above the build directories, `packages/stable`; empty if its builds are next to
            /// those of torch.
            folders: Strs,
            /// URL of its index, with `{build}` as a placeholder for `cu118` and the like; `None` if unknown.
            page: OptStr,
        }
        /// A conda package that selects the build of torch in an environment.
        conda_variants: CondaVariantRow by [name] {
            /// Package name.
            name: Str,
            /// Whether it selects a build without CUDA; otherwise its version is the CUDA version.
            cpu: Flag,
            /// Only channel that has it, and whose torch builds depend on it.
            channel: OptStr,
        }
        /// The GPU code of the torch builds of a conda channel, for one CUDA version and a range of releases.
        conda_builds: CondaBuildRow by [channel, variant, first] {
            /// Channel: `pytorch`.
            channel: Str,
            /// Variant: `cu113`.
            variant: Str,
            /// First release.
            first: Version,
            /// Last release.
            last: Version,
            /// Cubin targets that nearly all fatbin containers include.
            sass: Targets,
            /// PTX targets.
            ptx: Targets,
        }
        /// A system package that contains a CUDA runtime.
        runtime_packages: RuntimePackageRow by [name] {
            /// Package name, without a suffix such as `-12-4`.
            name: Str,
        }
        /// A pattern by which the name of a distribution encodes the CUDA version of its wheels.
        cuda_name_suffixes: CudaNameSuffixRow by [mark, after] {
            /// Text before the digits: `-cu`.
            mark: Str,
            /// Text after the digits: `x`, or empty.
            after: Str,
            /// Whether a minor version in the name is that of the runtime in the wheel.
            minor: Flag,
        }
        /// A pattern by which the versions of a distribution encode the CUDA version of the wheel.
        cuda_version_suffixes: CudaVersionSuffixRow by [distribution, from, before, digits] {
            /// Distribution.
            distribution: Str,
            /// First release that it applies to; `None` if unbounded.
            from: OptVersion,
            /// First release that it no longer applies to; `None` if unbounded.
            before: OptVersion,
            /// Text before the digits: `+cuda`.
            mark: Str,
            /// Digits that are more than a CUDA version: `107` is CUDA 10.0 with cuDNN 7; `None` for all others.
            digits: OptStr,
            /// CUDA version that those digits encode.
            cuda: OptCuda,
        }
        /// A distribution that uses CUDA without a CUDA version in its name.
        gpu_packages: GpuPackageRow by [distribution] {
            /// Normalized name.
            distribution: Str,
        }
        /// A distribution with one library for each of several CUDA versions, which loads the one for the CUDA version of
        /// torch.
        bundled_variants: BundledRow by [distribution, from] {
            /// Normalized name: `bitsandbytes`.
            distribution: Str,
            /// First version with these variants; the next row begins where they change.
            from: Version,
            /// Newest version that was checked, if no row follows.
            newest: OptVersion,
            /// Variants: `cu118`, `cu124`.
            variants: Strs,
            /// Whether it loads a library of the same CUDA major version if there is none for the exact CUDA version of
            /// torch.
            nearest: Flag,
        }
        /// The ptxas versions in a Triton release, which determine the GPUs that it compiles for.
        triton_compilers: TritonRow by [version] {
            /// Triton version: `3.9.0`.
            version: Version,
            /// CUDA version of its ptxas.
            ptxas: Cuda,
            /// CUDA version of a separate ptxas for Blackwell GPUs, if there is one.
            ptxas_blackwell: OptCuda,
        }
        /// A file in which a distribution records its build configuration: JSON, or Python by its extension.
        build_files: BuildFileRow by [file] {
            /// Path relative to the Python import directory: `torch/version.py`.
            file: Str,
            /// Normalized name of the distribution, unless the file states another.
            distribution: Str,
            /// Whether the Python file lists pairs of names and values instead of assignments.
            pairs: Flag,
            /// Key of the distribution name in the file.
            name: OptStr,
            /// Key of the version; here and below, dots separate the levels of JSON.
            version: OptStr,
            /// Key of the CUDA version.
            cuda: OptStr,
            /// Whether CUDA 12.4 is the number 1204.
            hundreds: Flag,
            /// Key of the flag for a CUDA build.
            cuda_flag: OptStr,
            /// Key of the cuDNN version.
            cudnn: OptStr,
            /// Keys that are set in a build for `ROCm`.
            rocm: Strs,
            /// Keys that are set in a build for Intel GPUs.
            xpu: Strs,
        }
        /// An extra that cannot be used: it cannot be installed from the default index, or its packages are not found at run
        /// time.
        unusable_extras: UnusableExtraRow by [distribution, extra, version] {
            /// Normalized name.
            distribution: Str,
            /// Extra.
            extra: Str,
            /// Release.
            version: Version,
            /// First Python version affected, `3.11`; `None` for all.
            python: OptStr,
        }
        }
    };
}
