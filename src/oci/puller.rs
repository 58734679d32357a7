//! The door: images of a source, and readers of their layers for threads that may wait.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::Read;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::task::Context;
use std::task::Poll;
use std::task::Waker;

use tokio::runtime::Builder;
use tokio::runtime::Runtime;

use crate::oci::archive::Archive;
use crate::oci::archive::Origin;
use crate::oci::claims;
use crate::oci::claims::Claims;
use crate::oci::endpoint::Endpoint;
use crate::oci::engine::Engine;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::error::one_line;
use crate::oci::image::Layer;
use crate::oci::image::PulledImage;
use crate::oci::inspected::Inspected;
use crate::oci::keep::Kept;
use crate::oci::layout::Layout;
use crate::oci::options::Options;
use crate::oci::platform::Platform;
use crate::oci::reference;
use crate::oci::reference::whole_name;
use crate::oci::registries::Registries;
use crate::oci::resolve::Store;
use crate::oci::resolve::resolve;
use crate::oci::saved::Saved;
use crate::oci::session::Session;
use crate::oci::source::Form;
use crate::oci::source::Source;
use crate::oci::stream::LayerReader;
use crate::oci::ways::Ways;
use crate::reference::ImageReference;

/// The thread that the network is served on, while others wait for it.
pub(crate) struct Background(Option<Runtime>);

impl Background {
    fn new() -> Result<Self, Problem> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("registry").enable_all().build();
        runtime.map(|runtime| Self(Some(runtime))).map_err(|error| Problem::Setup { cause: error.to_string() })
    }

    /// Waits for some work on the network.
    pub(crate) fn wait_for<T>(&self, work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
        match &self.0 {
            Some(runtime) => runtime.block_on(work),
            None => Err(Problem::Setup { cause: "the network is shut down".into() }),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // A name that is still being looked up is not waited for.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Reads images and their layers. One for all images of a run: connections and log-ins are shared.
pub struct Puller {
    background: Arc<Background>,
    pub(crate) options: Options,
    registries: Registries,
    sessions: Mutex<BTreeMap<Endpoint, Arc<Session>>>,
    ways: Ways,
}

/// The images behind one name, and the way to their layers.
pub struct Opened {
    /// One for each wanted platform that exists; all where none was named.
    pub images: Vec<PulledImage>,
    /// Where their layers are.
    pub blobs: Blobs,
}

/// Where the layers of some images are. Cheap to clone, and open to any number of threads at once.
#[derive(Clone)]
pub struct Blobs {
    background: Arc<Background>,
    store: Arc<Store>,
    options: Arc<Options>,
}

impl Puller {
    /// A puller that nothing has been asked of yet; reads `registries.conf`.
    pub fn new(options: Options) -> Result<Self, PullError> {
        let fail = |problem| PullError::new("", "the settings", "", problem);
        let background = Background::new().map_err(fail)?;
        let registries = Registries::load(&options.environment).map_err(fail)?;
        Ok(Self {
            background: Arc::new(background),
            options,
            registries,
            sessions: Mutex::default(),
            ways: Ways::default(),
        })
    }

    /// Reads the configs of an image, one for each wanted platform that exists; all where none is named.
    ///
    /// Blocks, and belongs on a thread of no other runtime.
    pub fn open(&self, source: &Source, wanted: &[Platform]) -> Result<Opened, PullError> {
        self.open_as(source, wanted, true)
    }

    /// The same for someone who reads no layers, which cannot be read then where an engine has the image: it is asked
    /// about the image, and does not have to send all of it.
    pub fn glance(&self, source: &Source, wanted: &[Platform]) -> Result<Opened, PullError> {
        self.open_as(source, wanted, false)
    }

    fn open_as(&self, source: &Source, wanted: &[Platform], layers: bool) -> Result<Opened, PullError> {
        let (store, images) = match source {
            Source::Registry(reference) => self.registry(reference, wanted)?,
            Source::Layout { path, name } => {
                let (store, root) = Layout::folder(path, name.as_deref(), &self.options)?;
                let images = ready(resolve(&store, root, wanted))?;
                (store, images)
            }
            Source::Flat { path } => {
                let (store, root) = Layout::flat(path, &self.options)?;
                let images = ready(resolve(&store, root, wanted))?;
                (store, images)
            }
            Source::Archive { path, name, form } => {
                let fail = |problem| PullError::new(&path.display().to_string(), &shown(path, *form), "", problem);
                let archive = Archive::open(Origin::File(path.clone())).map_err(fail)?;
                let saved = archive.has("manifest.json");
                let layout = archive.has("index.json");
                if saved && (*form != Form::Oci || !layout) {
                    self.saved(archive, &shown(path, *form), name.as_deref(), wanted)?
                } else if layout {
                    let (store, root) = Layout::archive(Arc::new(archive), name.as_deref(), &self.options)?;
                    let images = ready(resolve(&store, root, wanted))?;
                    (store, images)
                } else {
                    return Err(fail(Problem::NoImage { cause: "it contains neither manifest.json nor index.json" }));
                }
            }
            Source::Engine { kind, image } => {
                let reference = format!("{}:{}", kind.scheme(), one_line(image, 300));
                let fail = |problem| PullError::new(kind.scheme(), &reference, "the image", problem);
                let limits = &self.options.limits;
                let engine = Engine::new(*kind, image, &self.options.environment, limits).map_err(fail)?;
                let told = if layers { None } else { Inspected::open(&engine, &reference, wanted, limits)? };
                if let Some((inspected, image)) = told {
                    (Store::Inspected(inspected), vec![image])
                } else {
                    let archive = Archive::open(Origin::Engine(engine)).map_err(fail)?;
                    self.saved(archive, &reference, None, wanted)?
                }
            }
        };
        let blobs = Blobs {
            background: self.background.clone(),
            store: Arc::new(store),
            options: Arc::new(self.options.clone()),
        };
        Ok(Opened { images, blobs })
    }

    /// Every tag of the repository that a reference names, asked at each place in turn.
    pub fn tags(&self, image: &ImageReference) -> Result<Vec<String>, PullError> {
        let fail = |problem| PullError::new(reference::host(image), &whole_name(image), "the tags", problem);
        let places = self.registries.places(image, &self.options).map_err(fail)?;
        let work = async {
            let mut first = None;
            for ways in places {
                match self.ways.ask(self, image, &ways, async |client, patience| client.every_tag(patience).await).await
                {
                    Ok((_, tags)) => return Ok(Ok(tags)),
                    Err(error) => first = first.or(Some(error)),
                }
            }
            Ok(Err(first.unwrap_or_else(|| fail(Problem::Blocked))))
        };
        self.background.wait_for(work).map_err(fail)?
    }

    fn saved(
        &self,
        archive: Archive,
        reference: &str,
        name: Option<&str>,
        wanted: &[Platform],
    ) -> Result<(Store, Vec<PulledImage>), PullError> {
        let (saved, image) = Saved::open(archive, reference, name, wanted, &self.options.limits)?;
        Ok((Store::Saved(saved), vec![image]))
    }

    /// Asks every place for the image in turn: mirrors first, the registry itself last.
    fn registry(&self, image: &ImageReference, wanted: &[Platform]) -> Result<(Store, Vec<PulledImage>), PullError> {
        let fail = |problem| PullError::new(reference::host(image), &whole_name(image), "", problem);
        let places = self.registries.places(image, &self.options).map_err(fail)?;
        let work = async {
            let mut tried = Vec::new();
            let mut last = None;
            for ways in places {
                match self.ways.ask(self, image, &ways, async |client, patience| client.root(patience).await).await {
                    Ok((client, root)) => {
                        let kept = Kept { client: Arc::new(client), keep: self.options.keep.clone() };
                        let store = Store::Registry(kept);
                        let images = resolve(&store, root, wanted).await;
                        return Ok(images.map(|images| (store, images)));
                    }
                    Err(error) => tried.extend(last.replace(error)),
                }
            }
            Ok(Err(last.map_or_else(|| fail(Problem::Blocked), |error| error.after(&tried))))
        };
        self.background.wait_for(work).map_err(fail)?
    }

    pub(crate) fn session(&self, image: &ImageReference, way: &Endpoint) -> Result<Arc<Session>, PullError> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(way) {
            return Ok(session.clone());
        }
        let session = Session::new(way, &self.options)
            .map_err(|problem| PullError::new(&way.host, &whole_name(image), "", problem))?;
        let session = Arc::new(session);
        sessions.insert(way.clone(), session.clone());
        Ok(session)
    }
}

impl Blobs {
    /// The bytes of a layer as they are stored: packed as its media type says, or, in an archive, as the bytes tell.
    ///
    /// Nothing is asked before the first read; a read that fails carries a `PullError`. The bytes are never more than
    /// the layer's size; that they have its digest is for the reader to check. Belongs on a thread of no runtime.
    pub fn layer(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, PullError> {
        match &*self.store {
            Store::Registry(kept) => {
                let (background, limits) = (self.background.clone(), &self.options.limits);
                Ok(Box::new(LayerReader::new(background, kept.client.clone(), layer, limits)))
            }
            Store::Layout(layout) => layout.layer(layer),
            Store::Saved(saved) => saved.layer(layer),
            Store::Inspected(inspected) => {
                let problem = Problem::NotFound {
                    said: "the engine provides image data only, not layers".into(),
                    nearest: Vec::new(),
                };
                Err(inspected.fail(&format!("layer {}", layer.digest), problem))
            }
        }
    }

    /// What the image's own list of packages (SBOM) claims; none where it has none. A few requests and the list itself.
    pub fn claims(&self, image: &PulledImage) -> Result<Option<Claims>, PullError> {
        let asked = format!("the list of packages of {}", image.manifest_digest);
        let fail = |problem| self.store.fail(&asked, problem);
        let search = claims::find(&self.store, image);
        let found = match &*self.store {
            Store::Registry(_) => self.background.wait_for(search),
            Store::Layout(_) | Store::Saved(_) | Store::Inspected(_) => ready(search),
        };
        let Some(layer) = found.map_err(fail)? else { return Ok(None) };
        claims::check(&layer).map_err(fail)?;
        claims::read(&layer, self.layer(&layer)?).map(Some).map_err(fail)
    }

    /// Where a layer lies in a source that can only be read from its beginning to its end: one layer after the other
    /// in this order costs one pass, any other way a pass for each. None where the order makes no difference.
    pub fn position(&self, layer: &Layer) -> Option<u64> {
        match &*self.store {
            Store::Registry(_) | Store::Inspected(_) => None,
            Store::Layout(layout) => layout.position(layer),
            Store::Saved(saved) => saved.position(layer),
        }
    }

    /// The registry's host and port, or the file or folder.
    pub fn host(&self) -> String {
        self.store.host()
    }
}

fn shown(path: &Path, form: Form) -> String {
    let scheme = match form {
        Form::Oci => "oci-archive:",
        Form::Docker => "docker-archive:",
        Form::Either => "",
    };
    format!("{scheme}{}", path.display())
}

/// Polls work that never waits to its end: files are read on the spot.
fn ready<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = work.as_mut().poll(&mut context) {
            return value;
        }
        std::hint::spin_loop();
    }
}
