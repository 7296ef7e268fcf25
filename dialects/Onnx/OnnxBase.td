// The onnx dialect and what all its operations share.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXBASE_TD
#define FARSKIP_DIALECTS_ONNX_ONNXBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Shape/SymbolicShapeOpInterface.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::farskip::onnx";
  let summary = "ONNX operators in their newest form";
  let description = [{
    One operation per ONNX operator, named as the standard names it (`onnx.MatMul`), and one per operator of the
    `com.microsoft` domain (`onnx.ms.MoE`). Attributes and the order of operands are those of the newest version of the
    operator; the importer upgrades older ones. Omitted optional inputs are absent operands. Every output that the
    standard lists is a result, used or not. Element types: `ui8` … `ui64` for unsigned integers, `i8` … `i64` for signed
    ones, `i1` for bool.
  }];
  let useDefaultAttributePrinterParser = 0;
}

def OnnxOpInterface : OpInterface<"OnnxOpInterface"> {
  let cppNamespace = "::farskip::onnx";
  let description = "What the importer needs to know of an operator; generated from its ODS definition.";
  let methods = [
    StaticInterfaceMethod<"Inputs and attributes in the order of the standard.",
                          "::llvm::ArrayRef<::farskip::onnx::Field>", "fields">
  ];
}

// The kind of an attribute as the importer sees it: i f s (one), I F S (a list), t (a tensor).
class OnnxAttr<string kind, bit required> { string onnxKind = kind; bit onnxRequired = required; }

// The accessor's type is signed, unlike I64Attr's.
def Onnx_I64 : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit signless integer attribute">;

class Onnx_Int<int value> : DefaultValuedAttr<Onnx_I64, !cast<string>(value)>, OnnxAttr<"i", 0>;
def Onnx_RequiredInt : ConfinedAttr<Onnx_I64, []>, OnnxAttr<"i", 1>;
def Onnx_OptionalInt : OptionalAttr<Onnx_I64>, OnnxAttr<"i", 0>;
class Onnx_Float<string value> : DefaultValuedAttr<F32Attr, value>, OnnxAttr<"f", 0>;
def Onnx_OptionalFloat : OptionalAttr<F32Attr>, OnnxAttr<"f", 0>;
class Onnx_Str<string value> : DefaultValuedStrAttr<StrAttr, value>, OnnxAttr<"s", 0>;
def Onnx_RequiredStr : ConfinedAttr<StrAttr, []>, OnnxAttr<"s", 1>;
def Onnx_OptionalInts : OptionalAttr<DenseI64ArrayAttr>, OnnxAttr<"I", 0>;
def Onnx_RequiredInts : ConfinedAttr<DenseI64ArrayAttr, []>, OnnxAttr<"I", 1>;
def Onnx_OptionalFloats : OptionalAttr<DenseF32ArrayAttr>, OnnxAttr<"F", 0>;
def Onnx_OptionalTensor : OptionalAttr<ElementsAttr>, OnnxAttr<"t", 0>;

def Onnx_Tensor : TensorOf<[AnyType]>;

// One entry of `fields()`: {"name", kind}; operands are x (required), o (optional), v (variadic).
class OnnxField<string name, Constraint c> {
  string kind = !cond(
    !isa<OnnxAttr>(c) : !cast<OnnxAttr>(c).onnxKind,
    !isa<Optional>(c) : "o",
    !isa<Variadic>(c) : "v",
    true : "x");
  string required = !if(!isa<OnnxAttr>(c), !if(!cast<OnnxAttr>(c).onnxRequired, "true", "false"),
                        !if(!eq(kind, "x"), "true", "false"));
  string text = "{\"" # name # "\", '" # kind # "', " # required # "}, ";
}

class Onnx_Op<string mnemonic, dag ins, dag outs, list<Trait> traits = []>
    : Op<Onnx_Dialect, mnemonic,
         [Pure, DeclareOpInterfaceMethods<SymbolicShapeOpInterface>, OnnxOpInterface] # traits> {
  let arguments = ins;
  let results = outs;
  let extraClassDeclaration = [{
    static ::llvm::ArrayRef<::farskip::onnx::Field> fields() {
      static const ::farskip::onnx::Field list[] = {
        }] # !foldl("", !range(!size(ins)), text, i,
                    text # OnnxField<!getdagname(ins, i), !getdagarg<Constraint>(ins, i)>.text) # [{
        {nullptr, 0, false}};
      return ::llvm::ArrayRef(list).drop_back();
    }
  }];
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif
