// Package v1 has the names of algorithms that github.com/sigstore/sigstore/pkg/signature uses.
//
// It takes the place of the package of github.com/sigstore/protobuf-specs v0.5.0, which defines them as
// messages of protobuf. The messages are not used, and protobuf is a twentieth of the program.
package v1

// HashAlgorithm is a hash function.
type HashAlgorithm int32

// The values of HashAlgorithm that are used.
const (
	HashAlgorithm_HASH_ALGORITHM_UNSPECIFIED HashAlgorithm = 0
	HashAlgorithm_SHA2_256                   HashAlgorithm = 1
	HashAlgorithm_SHA2_384                   HashAlgorithm = 2
	HashAlgorithm_SHA2_512                   HashAlgorithm = 3
)

// PublicKeyDetails is a kind of key, with the signature it makes.
type PublicKeyDetails int32

// The values of PublicKeyDetails that are used.
const (
	PublicKeyDetails_PUBLIC_KEY_DETAILS_UNSPECIFIED PublicKeyDetails = 0
	PublicKeyDetails_PKIX_RSA_PSS                   PublicKeyDetails = 4
	PublicKeyDetails_PKIX_RSA_PKCS1V15_2048_SHA256  PublicKeyDetails = 9
	PublicKeyDetails_PKIX_RSA_PKCS1V15_3072_SHA256  PublicKeyDetails = 10
	PublicKeyDetails_PKIX_RSA_PKCS1V15_4096_SHA256  PublicKeyDetails = 11
	PublicKeyDetails_PKIX_RSA_PSS_2048_SHA256       PublicKeyDetails = 16
	PublicKeyDetails_PKIX_RSA_PSS_3072_SHA256       PublicKeyDetails = 17
	PublicKeyDetails_PKIX_RSA_PSS_4096_SHA256       PublicKeyDetails = 18
	PublicKeyDetails_PKIX_ECDSA_P256_SHA_256        PublicKeyDetails = 5
	PublicKeyDetails_PKIX_ECDSA_P384_SHA_384        PublicKeyDetails = 12
	PublicKeyDetails_PKIX_ECDSA_P521_SHA_512        PublicKeyDetails = 13
	PublicKeyDetails_PKIX_ED25519                   PublicKeyDetails = 7
	PublicKeyDetails_PKIX_ED25519_PH                PublicKeyDetails = 8
	PublicKeyDetails_PKIX_ECDSA_P384_SHA_256        PublicKeyDetails = 19
	PublicKeyDetails_PKIX_ECDSA_P521_SHA_256        PublicKeyDetails = 20
)
