"""Certificates of a temporary authority, for TLS receivers on this machine."""

import ssl
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Authority:
    """Signs certificates; ``trusting`` is a client context that trusts only this authority."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test authority")])
        self._certificate = (
            self._builder(self._name, self._key.public_key(), -1)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def trusting(self) -> ssl.SSLContext:
        """A client context."""
        pem = self._certificate.public_bytes(serialization.Encoding.PEM).decode()
        return ssl.create_default_context(cadata=pem)

    def demanding(self, folder: Path, name: str) -> ssl.SSLContext:
        """A server context that requires client certificates."""
        context = self.serving(folder, name)
        context.load_verify_locations(cadata=self._certificate.public_bytes(serialization.Encoding.PEM).decode())
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def outdated(self, folder: Path, name: str) -> ssl.SSLContext:
        """A server context that supports TLS 1.1 at most."""
        context = self.serving(folder, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        return context

    def serving(self, folder: Path, *names: str, days_ago: int = 1) -> ssl.SSLContext:
        """A server context with a certificate for the names, valid for 30 days from ``days_ago``."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
        certificate = (
            self._builder(subject, key.public_key(), -days_ago)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return _server_context(folder / f"{names[0]}.pem", key, certificate)

    @staticmethod
    def self_signed(folder: Path, name: str) -> ssl.SSLContext:
        """A server context with a self-signed certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .sign(key, hashes.SHA256())
        )
        return _server_context(folder / "self-signed.pem", key, certificate)

    def _builder(
        self, subject: x509.Name, public: ec.EllipticCurvePublicKey, from_days: int
    ) -> x509.CertificateBuilder:
        begins = datetime.now(UTC) + timedelta(days=from_days)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(begins + timedelta(days=30))
        )


def _server_context(file: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> ssl.SSLContext:
    """A server context with this key and certificate, which are written to the file."""
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
