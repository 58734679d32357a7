//! The cure: changes that make an image start where it does not, each proved by the judge that said so.
//!
//! A candidate is a wish (another tag, another build, a variable) that the tables know to exist. It is written into the
//! *text* that holds it, the text is read again, and the whole road is gone with it on all pools on which the image
//! runs. What holds no text (an image in a registry, a description) is changed as observed, and the change is told
//! without edits; so are changes of the fleet.
//!
//! On pools where the image only may fail, changes are sought that make it start whatever is not known; failing that,
//! those with which less is left open, and those that help where what is not known of the image holds nothing. All of
//! these are told, and none is written: the image may need no change.
//!
//! Where no single change of the image does, a base, or its compat library, and a build of the framework are changed
//! together; then up to three changes of which each meets a later wall than the one before it, or helps on more pools.
//! Releases of a framework that are further away than the nearest ten are tried where all that is of no avail.
//!
//! What is written still builds: a build lies in the indexes that have it, hashes are of one wheel, lists bound versions.
//! What would not build is told, to be done by hand.
//!
//! # What is smaller
//!
//! Kinds in this order, and within a kind the candidate that is nearest to what is there: of releases and tags the
//! patches of a minor, then neighbouring minors, one release standing for each. What cures without breaking anything
//! comes before what breaks a pool, and what cures all pools before what cures some. What is more than two minors away,
//! or of another major, is the last resort and comes behind everything that is near and helps on as many pools.
//! What starts with machine code comes before what starts only with PTX that is compiled for a newer GPU, which says
//! nothing of the libraries of CUDA that it calls, and is never safe.
//!
//! | kind | what is changed | for the program | safety |
//! |---|---|---|---|
//! | `environment` | one variable of the image: devices, capabilities, its own requirement, search path | nothing | safe; a requirement, less of something, and what is searched first, unsafe |
//! | `arch-list` | the GPUs that an extension is compiled for | nothing | safe |
//! | `driver-libraries` | driver libraries that the image brings itself are left out | nothing | unsafe |
//! | `framework-variant` | the same release of a framework, built for another CUDA, or with the libraries that it asks for | the build | safe; unsafe where others build on it and on a mirror, or with more packages, manual where one is a build for the CUDA that goes |
//! | `base-tag` | another tag of the same image: its patch, its minor, its operating system | the base | safe within a CUDA minor, unsafe within an operating system and a CUDA major, or few minors of a framework on which nothing else is built, else manual |
//! | `platform` | the platforms that the image is built for | the build | manual |
//! | `driver` | the driver of a pool: the smallest release that cures | nothing, but the nodes | manual |
//! | `compat` | the compat library is brought in or left out | nothing | safe to leave out, else unsafe |
//! | `framework-version` | another release of the framework: patch, then minor | the release | unsafe; manual across majors and many minors |
//! | `toolkit` | the container toolkit of a pool, or its mode | nothing, but the nodes | manual |
//! | `run-environment` | a variable given at the start of the container | nothing, but a check | manual |

mod base;
mod beside;
mod buildable;
mod capabilities;
mod case;
mod chain;
mod compat;
mod conda;
mod environment;
mod extra;
mod floating;
mod framework;
mod host;
mod kind;
mod libraries;
mod offer;
mod pair;
mod platform;
mod pretend;
mod repair;
mod search;
mod split;
mod supposed;
mod trial;
mod usual;
mod versions;
mod wish;
mod write;

pub use self::kind::Kind;
pub use self::kind::Safety;
pub use self::offer::offer;
pub use self::offer::offer_for_failures;
pub use self::repair::Repair;
pub use self::repair::follow;
pub use self::repair::repair;
pub use self::search::Found;
pub use self::search::PoolFate;
pub use self::search::Tried;
pub use self::wish::Companion;
pub use self::wish::PoolChange;
pub use self::wish::Wish;

/// A change that may cure; nothing is said of what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What is changed.
    pub kind: Kind,
    /// How far it is from what is there, within its kind.
    pub step: usize,
    /// One line.
    pub title: String,
    /// What else it may change.
    pub safety: Safety,
    /// The change.
    pub wish: Wish,
}
