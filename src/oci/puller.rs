//! The entry point: opens images of a source and their layers, for synchronous callers.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::Read;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::runtime::{Builder, Runtime};

use crate::oci::container_engine::EngineImage;
use crate::oci::docker_archive::DockerArchive;
use crate::oci::endpoint::RegistryEndpoint;
use crate::oci::endpoint_selection::KnownProtocols;
use crate::oci::engine_inspection::EngineInspection;
use crate::oci::image::{Layer, PulledImage};
use crate::oci::image_archive::{ArchiveOrigin, ImageArchive};
use crate::oci::image_layout::ImageLayout;
use crate::oci::image_name::full_name;
use crate::oci::image_resolution::{ImageStore, resolve_images};
use crate::oci::image_source::{ArchiveFormat, ImageSource};
use crate::oci::layer_stream::LayerReader;
use crate::oci::manifest_cache::CachedRegistry;
use crate::oci::platform::Platform;
use crate::oci::pull_error::{PullError, PullProblem, one_line};
use crate::oci::pull_options::PullOptions;
use crate::oci::registries_conf::RegistriesConf;
use crate::oci::registry_session::RegistrySession;
use crate::oci::sbom::ImageSbom;
use crate::oci::{image_name, sbom};
use crate::reference::ImageReference;

/// The runtime thread on which network requests run while callers block.
pub(crate) struct NetworkRuntime(Option<Runtime>);

impl NetworkRuntime {
    /// Starts the runtime.
    fn new() -> Result<Self, PullProblem> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("registry").enable_all().build();
        runtime.map(|runtime| Self(Some(runtime))).map_err(|error| PullProblem::Setup { cause: error.to_string() })
    }

    /// Blocks until a network operation has finished.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = Result<T, PullProblem>>) -> Result<T, PullProblem> {
        match &self.0 {
            Some(runtime) => runtime.block_on(work),
            None => Err(PullProblem::Setup { cause: "the network is shut down".into() }),
        }
    }
}

impl Drop for NetworkRuntime {
    fn drop(&mut self) {
        // A name that is still being looked up is not waited for.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Opens images and their layers. One puller serves all images of a run, so that connections and logins are shared.
pub struct Puller {
    background: Arc<NetworkRuntime>,
    pub(crate) options: PullOptions,
    registries: RegistriesConf,
    sessions: Mutex<BTreeMap<RegistryEndpoint, Arc<RegistrySession>>>,
    /// The protocols that hosts have responded to.
    known_protocols: KnownProtocols,
}

/// The images of one source, and access to their layers.
pub struct OpenedImages {
    /// One image for each requested platform that exists; all images if no platform was requested.
    pub images: Vec<PulledImage>,
    /// The store of their layers.
    pub blobs: LayerBlobs,
}

/// Access to the layers of images. Cheap to clone, and usable from several threads at once.
#[derive(Clone)]
pub struct LayerBlobs {
    background: Arc<NetworkRuntime>,
    store: Arc<ImageStore>,
    options: Arc<PullOptions>,
}

impl Puller {
    /// Creates a puller; reads `registries.conf`.
    pub fn new(options: PullOptions) -> Result<Self, PullError> {
        let fail = |problem| PullError::new("", "the settings", "", problem);
        let background = NetworkRuntime::new().map_err(fail)?;
        let registries = RegistriesConf::load(&options.environment).map_err(fail)?;
        Ok(Self {
            background: Arc::new(background),
            options,
            registries,
            sessions: Mutex::default(),
            known_protocols: KnownProtocols::default(),
        })
    }

    /// Reads the config of an image for each requested platform that exists; for all platforms if none is requested.
    ///
    /// Blocks, and belongs on a thread of no other runtime.
    pub fn open(&self, source: &ImageSource, wanted: &[Platform]) -> Result<OpenedImages, PullError> {
        self.open_images(source, wanted, true)
    }

    /// Like `open`, but without layers if a container engine has the image: only its description is requested, not
    /// the whole archive.
    pub fn open_config(&self, source: &ImageSource, wanted: &[Platform]) -> Result<OpenedImages, PullError> {
        self.open_images(source, wanted, false)
    }

    /// Opens the images of a source, with or without their layers.
    fn open_images(&self, source: &ImageSource, wanted: &[Platform], layers: bool) -> Result<OpenedImages, PullError> {
        let (store, images) = match source {
            ImageSource::Registry(reference) => self.open_registry_image(reference, wanted)?,
            ImageSource::Layout { path, name } => {
                let (store, root) = ImageLayout::open_folder(path, name.as_deref(), &self.options)?;
                let images = poll_to_completion(resolve_images(&store, root, wanted))?;
                (store, images)
            }
            ImageSource::Flat { path } => {
                let (store, root) = ImageLayout::open_flat_folder(path, &self.options)?;
                let images = poll_to_completion(resolve_images(&store, root, wanted))?;
                (store, images)
            }
            ImageSource::Archive { path, name, form } => {
                let fail =
                    |problem| PullError::new(&path.display().to_string(), &archive_reference(path, *form), "", problem);
                let archive = ImageArchive::open(ArchiveOrigin::File(path.clone())).map_err(fail)?;
                let saved = archive.contains("manifest.json");
                let layout = archive.contains("index.json");
                if saved && (*form != ArchiveFormat::Oci || !layout) {
                    self.open_docker_archive(archive, &archive_reference(path, *form), name.as_deref(), wanted)?
                } else if layout {
                    let (store, root) = ImageLayout::open_archive(Arc::new(archive), name.as_deref(), &self.options)?;
                    let images = poll_to_completion(resolve_images(&store, root, wanted))?;
                    (store, images)
                } else {
                    return Err(fail(PullProblem::NoImage {
                        cause: "it contains neither manifest.json nor index.json",
                    }));
                }
            }
            ImageSource::Engine { kind, image } => {
                let reference = format!("{}:{}", kind.scheme(), one_line(image, 300));
                let fail = |problem| PullError::new(kind.scheme(), &reference, "the image", problem);
                let limits = &self.options.limits;
                let engine = EngineImage::new(*kind, image, &self.options.environment, limits).map_err(fail)?;
                let told = if layers { None } else { EngineInspection::open(&engine, &reference, wanted, limits)? };
                if let Some((inspected, image)) = told {
                    (ImageStore::Inspected(inspected), vec![image])
                } else {
                    let archive = ImageArchive::open(ArchiveOrigin::Engine(engine)).map_err(fail)?;
                    self.open_docker_archive(archive, &reference, None, wanted)?
                }
            }
        };
        let blobs = LayerBlobs {
            background: self.background.clone(),
            store: Arc::new(store),
            options: Arc::new(self.options.clone()),
        };
        Ok(OpenedImages { images, blobs })
    }

    /// Returns every tag of a reference's repository, from the first endpoint that lists them.
    pub fn tags(&self, image: &ImageReference) -> Result<Vec<String>, PullError> {
        let fail = |problem| PullError::new(image_name::registry_host(image), &full_name(image), "the tags", problem);
        let places = self.registries.endpoints(image, &self.options).map_err(fail)?;
        let work = async {
            let mut first = None;
            for ways in places {
                match self
                    .known_protocols
                    .try_endpoints(self, image, &ways, async |client, patience| client.all_tags(patience).await)
                    .await
                {
                    Ok((_, tags)) => return Ok(Ok(tags)),
                    Err(error) => first = first.or(Some(error)),
                }
            }
            Ok(Err(first.unwrap_or_else(|| fail(PullProblem::Blocked))))
        };
        self.background.block_on(work).map_err(fail)?
    }

    /// Opens an image of a `docker save` archive.
    fn open_docker_archive(
        &self,
        archive: ImageArchive,
        reference: &str,
        name: Option<&str>,
        wanted: &[Platform],
    ) -> Result<(ImageStore, Vec<PulledImage>), PullError> {
        let (saved, image) = DockerArchive::open(archive, reference, name, wanted, &self.options.limits)?;
        Ok((ImageStore::Saved(saved), vec![image]))
    }

    /// Opens an image in a registry: tries the mirrors first and the registry itself last.
    fn open_registry_image(
        &self,
        image: &ImageReference,
        wanted: &[Platform],
    ) -> Result<(ImageStore, Vec<PulledImage>), PullError> {
        let fail = |problem| PullError::new(image_name::registry_host(image), &full_name(image), "", problem);
        let places = self.registries.endpoints(image, &self.options).map_err(fail)?;
        let work = async {
            let mut tried = Vec::new();
            let mut last = None;
            for ways in places {
                match self
                    .known_protocols
                    .try_endpoints(self, image, &ways, async |client, patience| client.root_document(patience).await)
                    .await
                {
                    Ok((client, root)) => {
                        let kept =
                            CachedRegistry { client: Arc::new(client), cache: self.options.manifest_cache.clone() };
                        let store = ImageStore::Registry(kept);
                        let images = resolve_images(&store, root, wanted).await;
                        return Ok(images.map(|images| (store, images)));
                    }
                    Err(error) => tried.extend(last.replace(error)),
                }
            }
            Ok(Err(last.map_or_else(|| fail(PullProblem::Blocked), |error| error.with_mirror_errors(&tried))))
        };
        self.background.block_on(work).map_err(fail)?
    }

    /// Returns the session with an endpoint, which all images share.
    pub(crate) fn session_for(
        &self,
        image: &ImageReference,
        way: &RegistryEndpoint,
    ) -> Result<Arc<RegistrySession>, PullError> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(way) {
            return Ok(session.clone());
        }
        let session = RegistrySession::new(way, &self.options)
            .map_err(|problem| PullError::new(&way.host, &full_name(image), "", problem))?;
        let session = Arc::new(session);
        sessions.insert(way.clone(), session.clone());
        Ok(session)
    }
}

impl LayerBlobs {
    /// Opens a layer as it is stored: compressed as its media type or, in an archive, its first bytes indicate.
    ///
    /// Nothing is asked before the first read; a read that fails carries a `PullError`. The bytes are never more than
    /// the layer's size; that they have its digest is for the reader to check. Belongs on a thread of no runtime.
    pub fn layer_reader(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, PullError> {
        match &*self.store {
            ImageStore::Registry(kept) => {
                let (background, limits) = (self.background.clone(), &self.options.limits);
                Ok(Box::new(LayerReader::new(background, kept.client.clone(), layer, limits)))
            }
            ImageStore::Layout(layout) => layout.layer_reader(layer),
            ImageStore::Saved(saved) => saved.layer_reader(layer),
            ImageStore::Inspected(inspected) => {
                let problem = PullProblem::NotFound {
                    said: "the engine provides image data only, not layers".into(),
                    nearest: Vec::new(),
                };
                Err(inspected.pull_error(&format!("layer {}", layer.digest), problem))
            }
        }
    }

    /// Reads the SBOM of an image; `None` if it has none. Makes a few requests and downloads the SBOM.
    pub fn sbom(&self, image: &PulledImage) -> Result<Option<ImageSbom>, PullError> {
        let asked = format!("the list of packages of {}", image.manifest_digest);
        let fail = |problem| self.store.pull_error(&asked, problem);
        let search = sbom::find_sbom(&self.store, image);
        let found = match &*self.store {
            ImageStore::Registry(_) => self.background.block_on(search),
            ImageStore::Layout(_) | ImageStore::Saved(_) | ImageStore::Inspected(_) => poll_to_completion(search),
        };
        let Some(layer) = found.map_err(fail)? else { return Ok(None) };
        sbom::check_size(&layer).map_err(fail)?;
        sbom::read_sbom(&layer, self.layer_reader(&layer)?).map(Some).map_err(fail)
    }

    /// Returns a layer's offset in a source that is read sequentially: in this order all layers cost one pass,
    /// otherwise one each. `None` if the order does not matter.
    pub fn layer_offset(&self, layer: &Layer) -> Option<u64> {
        match &*self.store {
            ImageStore::Registry(_) | ImageStore::Inspected(_) => None,
            ImageStore::Layout(layout) => layout.layer_offset(layer),
            ImageStore::Saved(saved) => saved.layer_offset(layer),
        }
    }

    /// Returns the registry's host and port, or the path of the file or directory.
    pub fn host(&self) -> String {
        self.store.host()
    }
}

/// Returns an archive as a user writes it, such as `oci-archive:FILE`.
fn archive_reference(path: &Path, form: ArchiveFormat) -> String {
    let scheme = match form {
        ArchiveFormat::Oci => "oci-archive:",
        ArchiveFormat::Docker => "docker-archive:",
        ArchiveFormat::Either => "",
    };
    format!("{scheme}{}", path.display())
}

/// Polls a future that never waits until it is complete: files are read synchronously.
fn poll_to_completion<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = work.as_mut().poll(&mut context) {
            return value;
        }
        std::hint::spin_loop();
    }
}
